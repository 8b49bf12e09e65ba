//! Making a map.

use mereo_core::{Context, Error, Labels, Place, Result, Status, Training};
use rand::seq::index::sample;

use crate::Placer;
use crate::journey::{Journey, Saved};
use crate::map::{Cost, Map, Reference};
use crate::params::{MapParams, Method, PairCost};
use crate::pcoa::{Placing, coordinates};
use crate::quality::measure;
use crate::{Given, pairs, tsne};

/// Above this many rows and columns principal coordinates are those of landmarks unless told otherwise.
const MOST_PRINCIPAL: usize = 20_000;
const LANDMARKS: usize = 5_000;

/// Makes a map of rows or of distances, and says how it came to be. Labels do not change a map: they are
/// kept in it, and how well neighbours agree on them is one measure of it.
///
/// ```
/// use mereo_core::{Context, Dense, Table};
/// use mereo_map::{Given, Journey, MapParams, Method, Rows, fit};
/// let square = vec![0.0, 0.0, 3.0, 0.0, 0.0, 3.0, 3.0, 3.0];
/// let rows = Rows::read(&Table::from(Dense::new(4, 2, square)?))?;
/// let mut watch = |_: &mereo_map::Step| ();
/// let mut journey =
///     Journey { context: &Context::new(0), checkpoints: None, watch: &mut watch };
/// let (map, _) = fit(&MapParams::new(Method::Pcoa), &Given::Rows(&rows), None, &mut journey)?;
/// assert_eq!(map.points().len(), 8);
/// assert!(map.quality().rank_correlation > 0.999);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn fit(
    params: &MapParams,
    given: &Given<'_>,
    labels: Option<&Labels>,
    journey: &mut Journey<'_>,
) -> Result<(Map, Training)> {
    params.check()?;
    let (rows, dimensions) = (given.count(), params.dimensions);
    if rows <= dimensions {
        return Err(Error::found(
            Place::default(),
            format!("{rows} rows"),
            format!("more rows than the {dimensions} dimensions of the map"),
        ));
    }
    if matches!(given, Given::Rows(rows) if rows.columns() == 0) {
        return Err(Error::found(Place::default(), "rows without columns", "at least one column"));
    }
    if labels.is_some_and(|l| l.of_row.len() != rows) {
        return Err(Error::option("labels", format!("there must be one for each of {rows} rows")));
    }
    let context = journey.context;
    let watch = &mut *journey.watch;
    let mut inside = Journey { context, checkpoints: journey.checkpoints, watch };
    context.install(move || whole(params, given, labels, &mut inside))
}

fn whole(
    params: &MapParams,
    given: &Given<'_>,
    labels: Option<&Labels>,
    journey: &mut Journey<'_>,
) -> Result<(Map, Training)> {
    let (rows, dimensions) = (given.count(), params.dimensions);
    let identity =
        format!("{:016x} {params:?} seed {}", given.fingerprint(), journey.context.seed());
    let learned_from = learned_from(params, given, journey.context)?;
    let (mut map, saved) = match &learned_from {
        None => make(params, given, identity, journey)?,
        Some(some) => {
            let few = given.select(some, None)?;
            let (map, saved) = make(params, &few.lend(), identity, journey)?;
            (placed(&map, given, some, dimensions)?, saved)
        }
    };
    map.set_labels(labels.cloned());
    let (quality, shepard) = measure(given, map.points(), dimensions, labels);
    map.set_quality(quality, shepard);
    let best = saved.past.best.unwrap_or(0);
    let (status, passes) = saved.past.ended.get(best).map_or((Status::Converged, 1), |restart| {
        (restart.status, restart.bounds.len().saturating_sub(1))
    });
    let interrupted = saved.past.ended.iter().any(|r| r.status == Status::Interrupted);
    let training = Training {
        rows,
        weight: None,
        fingerprint: None,
        seed: journey.context.seed(),
        bound: -map.cost().value,
        log_likelihood: None,
        likelihood_unknown: true,
        held_out: Vec::new(),
        passes,
        status: if interrupted { Status::Interrupted } else { status },
        best,
        restarts: saved.past.ended,
    };
    Ok((map, training))
}

/// The rows that a map is made of, where not all: landmarks, and no row that does not count.
fn learned_from(
    params: &MapParams,
    given: &Given<'_>,
    context: &Context,
) -> Result<Option<Vec<usize>>> {
    let rows = given.count();
    let counts = |i: usize| given.weights().is_none_or(|w| w[i] > 0.0);
    let counting: Vec<usize> = (0..rows).filter(|&i| counts(i)).collect();
    if counting.len() <= params.dimensions {
        return Err(Error::found(
            Place::default(),
            format!("{} rows with a weight above 0", counting.len()),
            format!("more rows than the {} dimensions of the map", params.dimensions),
        ));
    }
    let wide = match (given, &params.method) {
        (Given::Rows(r), Method::Pcoa) => r.rows().min(r.columns()) > MOST_PRINCIPAL,
        (Given::Distances(d), Method::Pcoa) => d.count() > MOST_PRINCIPAL,
        _ => false,
    };
    let wanted = params.landmarks.or(wide.then_some(LANDMARKS));
    let count = wanted.map_or(counting.len(), |wanted| wanted.min(counting.len()));
    if count == rows {
        return Ok(None);
    }
    // Drawn, not every so manyth: rows often come in turns.
    let mut random = context.random("landmarks", [rows as u64, count as u64]);
    let mut some: Vec<usize> =
        sample(&mut random, counting.len(), count).into_iter().map(|k| counting[k]).collect();
    some.sort_unstable();
    Ok(Some(some))
}

fn make(
    params: &MapParams,
    given: &Given<'_>,
    identity: String,
    journey: &mut Journey<'_>,
) -> Result<(Map, Saved)> {
    let dimensions = params.dimensions;
    match &params.method {
        Method::Pcoa => {
            let found = coordinates(given, dimensions, journey.context)?;
            let shown: f64 = found.values.iter().sum();
            let all = found.spectrum.iter().map(|v| v.abs()).sum::<f64>().max(found.trace);
            let left = if all > 0.0 { (1.0 - shown / all).max(0.0) } else { 0.0 };
            let cost = Cost { value: left, kl: None };
            let reference = match found.placing {
                Placing::Axes { mean, axes } => {
                    let Given::Rows(rows) = given else { unreachable!("axes are those of rows") };
                    let centre = rows.centre().iter().zip(&mean).map(|(c, m)| c + m).collect();
                    Reference::Axes { centre, axes }
                }
                Placing::Gower { mean_square } => Reference::Gower {
                    values: found.values,
                    mean_square,
                    weights: given.weights().map(<[f64]>::to_vec),
                },
            };
            let mut map = Map::new(params.clone(), found.points, reference, cost);
            map.set_eigenvalues(found.spectrum, found.trace);
            Ok((map, Saved::default()))
        }
        Method::Mds(mds) => scaled(params, given, mds.cost, &mds.pairs, identity, journey),
        Method::Sammon(own) => scaled(params, given, PairCost::Sammon, own, identity, journey),
        Method::Tsne(own) => {
            let found = tsne::map(given, own, dimensions, identity, journey)?;
            let cost = Cost { value: found.kl, kl: Some(found.kl) };
            let mut reference = reference(given);
            if let Reference::Rows { index, .. } = &mut reference {
                *index = found.index;
            }
            let mut map = Map::new(params.clone(), found.points, reference, cost);
            map.set_search_recall(found.recall);
            Ok((map, found.saved))
        }
    }
}

fn scaled(
    params: &MapParams,
    given: &Given<'_>,
    cost: PairCost,
    own: &crate::PairParams,
    identity: String,
    journey: &mut Journey<'_>,
) -> Result<(Map, Saved)> {
    let found = pairs::scale(given, cost, own, params.dimensions, identity, journey)?;
    let cost = Cost { value: found.cost, kl: None };
    let mut map = Map::new(params.clone(), found.points, reference(given), cost);
    map.set_relative_cost(found.relative);
    Ok((map, found.saved))
}

fn reference(given: &Given<'_>) -> Reference {
    let weights = given.weights().map(<[f64]>::to_vec);
    match given {
        Given::Rows(rows) => Reference::Rows {
            centre: rows.centre().to_vec(),
            values: rows.values().to_vec(),
            weights,
            index: None,
        },
        Given::Distances(_) => Reference::Things { weights },
    }
}

/// A map of some rows, with all others placed into it.
fn placed(map: &Map, given: &Given<'_>, some: &[usize], dimensions: usize) -> Result<Map> {
    let rows = given.count();
    let mut is_landmark = vec![false; rows];
    some.iter().for_each(|&i| is_landmark[i] = true);
    let others: Vec<usize> = (0..rows).filter(|&i| !is_landmark[i]).collect();
    let placer = Placer::new(map);
    let new = match given {
        Given::Rows(all) => placer.rows(&all.select(&others))?,
        Given::Distances(all) => {
            let from = |i: usize| some.iter().map(move |&j| all.between(i, j));
            let known: Vec<f64> = others.iter().flat_map(|&i| from(i)).collect();
            placer.distances(&known)?
        }
    };
    let mut points = vec![0.0; rows * dimensions];
    for (rows, from) in [(some, map.points()), (&others, &new)] {
        for (&row, point) in rows.iter().zip(from.chunks_exact(dimensions)) {
            points[row * dimensions..(row + 1) * dimensions].copy_from_slice(point);
        }
    }
    Ok(map.with_all_points(points, some.to_vec()))
}
