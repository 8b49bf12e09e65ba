//! Cutting objects out of pictures: marks and colours say what pixels may be, and a field that neighbours
//! which look alike belong together.
//!
//! The log potential of label l at pixel i is
//!
//! `β_i[l] = max(log p_l(i) - max_k log p_k(i), -clip) - γ log(d_l(i) + 1)`,
//!
//! where `p_l` is the density of the pixel's colour under a mixture learned from the pixels marked l, or its
//! probability by a logistic regression on features around it, and `d_l` the length of the shortest way from
//! the pixel to a mark of l over the picture's steepness (a *geodesic* distance): colours alone
//! cannot tell an object from a background of the same colour behind an edge, ways can. Neighbours of
//! different labels cost `strength · exp(-‖Δ‖²/2s)/distance`. Marked pixels are what they are marked. Of two
//! labels the best state is found exactly by a cut, of more by alpha-expansion.

mod colours;
mod supervised;

use mereo_core::{Context, Error, Place, Result};
use mereo_data::Pixels;
use mereo_field::decide::{ExpansionParams, expansion};
use mereo_field::infer::MeanFieldParams;
use mereo_field::picture::{blur, contrast_weights, geodesic, lab, steepness};
use mereo_field::{
    Coupling, Decided, Grid, Inferred, Kind, Marginals, Neighbours, Pairwise, Unary, Weights,
    grid_cut, grid_mean_field,
};
use serde::{Deserialize, Serialize};

pub use colours::{Colours, Told};
pub use supervised::{Example, learn};

/// What a pixel pays for a label other than the one it is marked with.
const CERTAIN: f64 = 1e4;

/// How pixels tell labels by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Telling {
    /// A Gaussian mixture of the colours of each label.
    Mixtures,
    /// A logistic regression on features around the pixel.
    Regression,
}

/// How the best labels are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SegmentMethod {
    /// By a cut: exact for two labels, by expansions for more.
    Cut,
    /// By mean field, about the better of two starts: the likeliest label of each pixel.
    MeanField,
}

/// What the user chooses. The one place where defaults live.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SegmentParams {
    /// How pixels tell labels by themselves.
    pub telling: Telling,
    /// How the best labels are found.
    pub method: SegmentMethod,
    /// Components of each mixture of colours.
    pub components: usize,
    /// How much less likely than the likeliest a colour may make a label, in nats.
    pub clip: f64,
    /// How much ways to marks count.
    pub geodesic: f64,
    /// How strongly neighbours that look alike are coupled.
    pub strength: f64,
    /// How often colours are learned anew from all pixels of a label; it ends early where labels no
    /// longer change. 1 learns them from the marks alone.
    pub rounds: usize,
}

impl Default for SegmentParams {
    fn default() -> Self {
        Self {
            telling: Telling::Mixtures,
            method: SegmentMethod::Cut,
            components: 5,
            clip: 8.0,
            geodesic: 6.0,
            strength: 40.0,
            rounds: 1,
        }
    }
}

impl SegmentParams {
    /// Whether pictures can be cut like this.
    ///
    /// ```
    /// use mereo::segment::SegmentParams;
    /// assert!(SegmentParams::default().check().is_ok());
    /// assert!(SegmentParams { strength: -1.0, ..SegmentParams::default() }.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        for (name, value) in
            [("clip", self.clip), ("geodesic", self.geodesic), ("strength", self.strength)]
        {
            if !(0.0..=1000.0).contains(&value) {
                return Err(Error::option(name, format!("{value} is not from 0 to 1000")));
            }
        }
        for (name, value) in [("components", self.components), ("rounds", self.rounds)] {
            if value == 0 || value > 1000 {
                return Err(Error::option(name, format!("{value} is not from 1 to 1000")));
            }
        }
        Ok(())
    }
}

/// A picture in labels.
#[derive(Debug, Clone)]
pub struct Segmented {
    /// The label of each pixel.
    pub labels: Vec<u8>,
    /// `[pixels, labels]`: how probable each label is, by mean field, if it was asked for.
    pub probability: Option<Vec<f64>>,
    /// The labels there are, in order.
    pub values: Vec<u8>,
    /// The energy of the labels.
    pub energy: f64,
    /// Whether no other labels have less.
    pub kind: Kind,
    /// The energy after each round.
    pub trace: Vec<f64>,
    /// The free energy by sweep, where mean field was asked.
    pub free_energy: Vec<f64>,
}

/// Cuts a picture into the labels of its marks.
///
/// `marks` has 0 where nothing is marked. With `colours` from another picture, marks may be left out.
///
/// ```
/// use mereo::data::Pixels;
/// use mereo::segment::{SegmentParams, segment};
/// let bytes = (0..400).map(|i| if i % 20 < 8 { 200 } else { 40 }).collect();
/// let picture = Pixels { height: 20, width: 20, channels: 1, bytes };
/// let mut marks = vec![0; 400];
/// (marks[203], marks[215]) = (1, 2);
/// let cut = segment(&picture, Some(&marks), None, &SegmentParams::default(), false, &mereo::Context::new(0))?;
/// assert!((0..400).all(|i| cut.labels[i] == if i % 20 < 8 { 1 } else { 2 }));
/// # Ok::<(), mereo::Error>(())
/// ```
pub fn segment(
    picture: &Pixels,
    marks: Option<&[u8]>,
    colours: Option<&Colours>,
    params: &SegmentParams,
    probability: bool,
    context: &Context,
) -> Result<Segmented> {
    params.check()?;
    let size = (picture.height, picture.width);
    let pixels = size.0 * size.1;
    let nothing = vec![0; pixels];
    let marks = marks.unwrap_or(&nothing);
    let values = match colours {
        Some(colours) => colours.values().to_vec(),
        None => labels_of(marks)?,
    };
    // 0 is unmarked, also where colours learned before have a label 0.
    let label_of = |mark: u8| values.iter().position(|v| mark != 0 && *v == mark);
    if let Some(mark) = marks.iter().find(|m| **m != 0 && label_of(**m).is_none()) {
        let expected = format!("labels of the colours learned before: {values:?}");
        return Err(Error::found(Place::default(), format!("the mark {mark}"), expected));
    }
    let marked: Vec<Option<usize>> = marks.iter().map(|m| label_of(*m)).collect();
    let seen = lab(&picture.bytes, picture.channels);
    let ways = ways(&seen, size, &marked, values.len(), params.geodesic);
    let weights = contrast_weights(&seen, size, 3, Neighbours::Eight, params.strength);
    let mut labels: Vec<Option<usize>> = marked.clone();
    let mut told = match colours {
        Some(colours) => colours.clone(),
        None => Colours::learn(&seen, size, &labels, &values, params, context)?,
    };
    let (mut trace, mut found): (_, Option<(Grid, Decided)>) = (Vec::new(), None);
    for round in 0..params.rounds {
        if round > 0 {
            told = Colours::learn(&seen, size, &labels, &values, params, context)?;
        }
        let mut unary = told.log_ratios(&seen, size, params.clip, context)?;
        for (own, ways) in unary.iter_mut().zip(&ways) {
            *own += ways;
        }
        for (own, mark) in unary.chunks_exact_mut(values.len()).zip(&marked) {
            if let Some(mark) = *mark {
                own.fill(-CERTAIN);
                own[mark] = 0.0;
            }
        }
        let grid = Grid::new(
            size,
            values.len(),
            Neighbours::Eight,
            Unary::PerPixel(unary),
            Coupling::Potts,
            Weights::PerEdge(weights.clone()),
        )?;
        let decided = match params.method {
            SegmentMethod::Cut => best(&grid, values.len(), context)?,
            SegmentMethod::MeanField => {
                let labels = mean_field(&grid, values.len(), context)?.marginals.likeliest();
                let energy = grid.energy(&labels);
                Decided { labels, energy, bound: None, kind: Kind::Estimate, trace: Vec::new() }
            }
        };
        trace.push(decided.energy);
        let next: Vec<Option<usize>> = decided.labels.iter().map(|l| Some(*l)).collect();
        let settled = next == labels;
        labels = next;
        found = Some((grid, decided));
        if settled || colours.is_some() || context.stop().asked() {
            break;
        }
    }
    let Some((grid, decided)) = found else { return Err(Error::Interrupted) };
    let (mut shares, mut free_energy) = (None, Vec::new());
    if probability {
        // What a cut found is in the valley that is looked at; else the better of two is.
        let mean = match params.method {
            SegmentMethod::Cut => {
                let start = certain(&decided.labels, values.len());
                grid_mean_field(&grid, Some(&start), &sweeps(), context)?
            }
            SegmentMethod::MeanField => mean_field(&grid, values.len(), context)?,
        };
        shares = Some(mean.marginals.values().to_vec());
        free_energy = mean.trace;
    }
    Ok(Segmented {
        labels: decided.labels.iter().map(|l| values[*l]).collect(),
        probability: shares,
        energy: decided.energy,
        kind: decided.kind,
        trace,
        free_energy,
        values,
    })
}

fn sweeps() -> MeanFieldParams {
    MeanFieldParams { sweeps: 40, tolerance: 1e-3, ..MeanFieldParams::default() }
}

/// The best labels: exactly of two, by expansions of more.
fn best(grid: &Grid, labels: usize, context: &Context) -> Result<Decided> {
    if labels == 2 {
        grid_cut(grid)
    } else {
        Ok(expansion(grid, None, &ExpansionParams::default(), context))
    }
}

/// Mean field from what pixels say by themselves and from the best labels, whichever is nearer to the
/// field: couplings are strong here, and pixels that are wrong by themselves hold each other.
fn mean_field(grid: &Grid, labels: usize, context: &Context) -> Result<Inferred> {
    let cold = grid_mean_field(grid, None, &sweeps(), context)?;
    let start = certain(&best(grid, labels, context)?.labels, labels);
    let warm = grid_mean_field(grid, Some(&start), &sweeps(), context)?;
    Ok(if warm.log_z > cold.log_z { warm } else { cold })
}

/// Labels without doubt.
fn certain(labels: &[usize], count: usize) -> Marginals {
    let mut all = Marginals::new(std::iter::repeat_n(count, labels.len()));
    for (i, label) in labels.iter().enumerate() {
        let own = all.of_mut(i);
        own.fill(0.0);
        own[*label] = 1.0;
    }
    all
}

/// The labels that marks have: at least two.
fn labels_of(marks: &[u8]) -> Result<Vec<u8>> {
    let mut there = [false; 256];
    marks.iter().for_each(|m| there[usize::from(*m)] = true);
    let values: Vec<u8> = (1..=255).filter(|m| there[usize::from(*m)]).collect();
    let found = match values.as_slice() {
        [] => "no marked pixel".to_owned(),
        [one] => format!("marks of one label, {one}, alone"),
        _ => return Ok(values),
    };
    let expected = "marks of at least two labels (1 the object, 2 the background), 0 elsewhere";
    Err(Error::found(Place::default(), found, expected))
}

/// `[pixels, labels]`: what ways to marks tell.
fn ways(
    seen: &[f64],
    size: (usize, usize),
    marked: &[Option<usize>],
    labels: usize,
    weight: f64,
) -> Vec<f64> {
    let mut all = vec![0.0; marked.len() * labels];
    if weight == 0.0 || marked.iter().all(Option::is_none) {
        return all;
    }
    let steep = steepness(&blur(seen, size, 3, BLUR), size, 3);
    for label in 0..labels {
        let own: Vec<bool> = marked.iter().map(|m| *m == Some(label)).collect();
        // Labels that are marked nowhere are as far as can be everywhere.
        let far = geodesic(&steep, size, &own, TOLL);
        for (out, far) in all.chunks_exact_mut(labels).zip(far) {
            out[label] = -weight * (far.min(FAR) + NEAR).ln();
        }
    }
    all
}

/// The blur before steepness, in pixels; what a step over flat ground costs; and the least and the
/// greatest distances that are told apart.
const BLUR: f64 = 2.0;
const TOLL: f64 = 0.1;
const NEAR: f64 = 1.0;
const FAR: f64 = 1e6;

#[cfg(test)]
mod tests;
