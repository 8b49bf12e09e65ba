//! Curves as pictures.

use std::fmt::Write as _;
use std::path::PathBuf;

use mereo_core::{Error, Result};

/// Width and height of a drawing, and the margins around its curves.
const SIZE: (f64, f64) = (760.0, 480.0);
const LEFT: f64 = 70.0;
const RIGHT: f64 = 210.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 55.0;
/// Colours that can be told apart, also by the colour-blind; curves beyond them are dashed.
const COLOURS: [&str; 9] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933",
    "#882255",
];

/// One curve: its name and its points.
pub type Curve = (String, Vec<(f64, f64)>);

/// Draws curves into `target/figures/NAME.svg` and says where that is. `axes` are what stands below
/// and beside the drawing.
pub fn draw_curves(name: &str, title: &str, axes: (&str, &str), curves: &[Curve]) -> Result<()> {
    let folder = PathBuf::from("target/figures");
    std::fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, e))?;
    let path = folder.join(format!("{name}.svg"));
    std::fs::write(&path, svg(title, axes, curves)).map_err(|e| Error::io(&path, e))?;
    println!("drawn: {}", path.display());
    Ok(())
}

/// The drawing.
///
/// ```
/// let curve = ("us".to_owned(), vec![(0.0, 1.0), (2.0, 3.0)]);
/// let svg = mereo_experiments::plot::svg("A title", ("bytes", "dB"), &[curve]);
/// assert!(svg.starts_with("<svg") && svg.contains("polyline") && svg.contains("A title"));
/// ```
pub fn svg(title: &str, axes: (&str, &str), curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(|(_, points)| points.iter());
    let (x_ticks, y_ticks) = (ticks(points().map(|p| p.0)), ticks(points().map(|p| p.1)));
    let across = |x: f64| LEFT + share(x, &x_ticks) * (SIZE.0 - LEFT - RIGHT);
    let up = |y: f64| SIZE.1 - BOTTOM - share(y, &y_ticks) * (SIZE.1 - TOP - BOTTOM);
    let (right, bottom) = (SIZE.0 - RIGHT, SIZE.1 - BOTTOM);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{title}</text>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
         <text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
        SIZE.0,
        SIZE.1,
        f64::midpoint(LEFT, right),
        SIZE.1 - 14.0,
        axes.0,
        f64::midpoint(TOP, bottom),
        axes.1
    );
    // Writing to a string does not fail.
    for &x in &x_ticks {
        let at = across(x);
        let _ = writeln!(
            out,
            "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{}\" \
             text-anchor=\"middle\">{x}</text>",
            bottom + 18.0
        );
    }
    for &y in &y_ticks {
        let at = up(y);
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{y}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    for (number, (name, points)) in curves.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let dash = if number < COLOURS.len() { "none" } else { "6 3" };
        let pen = format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"");
        let path: Vec<String> =
            points.iter().map(|&(x, y)| format!("{:.1},{:.1}", across(x), up(y))).collect();
        let _ = writeln!(out, "<polyline points=\"{}\" fill=\"none\" {pen}/>", path.join(" "));
        for &(x, y) in points {
            let _ = writeln!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>",
                across(x),
                up(y)
            );
        }
        let y = TOP + 20.0 * number as f64;
        let _ = writeln!(
            out,
            "<path d=\"M{} {y}h20\" {pen}/><text x=\"{}\" y=\"{}\">{name}</text>",
            right + 12.0,
            right + 38.0,
            y + 4.0
        );
    }
    out + "</svg>\n"
}

/// How far along the ticks a value stands.
fn share(value: f64, ticks: &[f64]) -> f64 {
    let (low, high) = (ticks[0], ticks[ticks.len() - 1]);
    (value - low) / (high - low)
}

/// Round numbers around some values, at least two of them.
fn ticks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let (low, high) = values
        .filter(|v| v.is_finite())
        .fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    let (low, high) = if low < high { (low, high) } else { (0.0, 1.0) };
    let rough = (high - low) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|s| s * power)
        .find(|&s| s >= rough)
        .unwrap_or(10.0 * power);
    let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
    // Rounded, so that labels are as short as they can be.
    (first..=last).map(|i| ((i as f64 * step) * 1e9).round() / 1e9).collect()
}
