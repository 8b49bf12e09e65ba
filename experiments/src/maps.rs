//! What experiments with maps share.

use std::fmt::Write as _;
use std::path::PathBuf;

use mereo_core::{Context, Error, Labels, Real, Result, Source};
use mereo_map::{Given, Journey, Map, MapParams, Rows, fit};

/// Mid-toned colours that people who see colours differently can tell apart.
const COLOURS: [&str; 10] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8662c4", "#8c8c1e",
    "#a06240", "#7a828c",
];

/// A map of rows on all threads.
pub fn map_rows<T: Real>(
    params: &MapParams,
    source: &dyn Source<T>,
    labels: Option<&Labels>,
) -> Result<Map> {
    let rows = Rows::read(source)?;
    let context = Context::new(0).with_threads(0)?;
    let mut journey = Journey { context: &context, checkpoints: None, watch: &mut |_| () };
    Ok(fit(params, &Given::Rows(&rows), labels, &mut journey)?.0)
}

/// The share of rows whose nearest point has their label.
pub fn nearest_agreement(map: &Map) -> f64 {
    let d = map.dimensions();
    let Some(labels) = map.labels() else { return f64::NAN };
    let points: Vec<&[f64]> = map.points().chunks_exact(d).collect();
    let nearest = |i: usize| {
        let apart = |j: usize| -> f64 {
            points[i].iter().zip(points[j]).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let others = (0..points.len()).filter(|&j| j != i).map(|j| (apart(j), j));
        others.fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a }).1
    };
    let same = (0..points.len()).filter(|&i| labels.of_row[i] == labels.of_row[nearest(i)]).count();
    same as f64 / points.len().max(1) as f64
}

/// Draws points into `target/figures/NAME.svg`, coloured by class, with words beside them if given.
pub fn draw_points(
    name: &str,
    title: &str,
    points: &[(f64, f64)],
    class: impl Fn(usize) -> usize,
    words: Option<&[String]>,
) -> Result<()> {
    const SIDE: f64 = 900.0;
    let range = |of: fn(&(f64, f64)) -> f64| {
        let low = points.iter().map(of).fold(f64::INFINITY, f64::min);
        let high = points.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        (low, high)
    };
    let (x, y) = (range(|p| p.0), range(|p| p.1));
    let unit = (SIDE - 140.0) / (x.1 - x.0).max(y.1 - y.0).max(f64::MIN_POSITIVE);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIDE} {SIDE}\" font-family=\"sans-serif\" \
         font-size=\"15\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"40\" y=\"30\" font-size=\"18\">{title}</text>\n"
    );
    let size = if points.len() > 1000 { 2.0 } else { 4.5 };
    for (i, p) in points.iter().enumerate() {
        let (left, top) = (60.0 + unit * (p.0 - x.0), SIDE - 60.0 - unit * (p.1 - y.0));
        let colour = COLOURS[class(i) % COLOURS.len()];
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<circle cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"{size}\" fill=\"{colour}\"/>"
        );
        if let Some(word) = words.and_then(|w| w.get(i)) {
            let _ =
                writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\">{word}</text>", left + 9.0, top - 6.0);
        }
    }
    out.push_str("</svg>\n");
    let folder = PathBuf::from("target/figures");
    std::fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, e))?;
    let path = folder.join(format!("{name}.svg"));
    std::fs::write(&path, out).map_err(|e| Error::io(&path, e))?;
    println!("drawn: {}", path.display());
    Ok(())
}
