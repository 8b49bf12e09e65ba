//! What the page's script is given: small numbers as base64, in little-endian order.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::MapPage;
use crate::palette;

/// Bytes of columns and of pictures that a page may hold.
const COLUMN_BYTES: usize = 16 << 20;
const PICTURE_BYTES: usize = 12 << 20;
/// Longest side of a row's picture.
const SIDE: usize = 32;
/// Classes with colours of their own.
const COLOURS: usize = 30;

/// Text that can stand inside a script element.
pub(super) fn json(map: &MapPage<'_>) -> String {
    let dimensions = map.dimensions.max(1);
    let rows = map.points.len() / dimensions;
    // The scatter shows three dimensions at most.
    let shown = dimensions.min(3);
    let points: Vec<u8> = map
        .points
        .chunks_exact(dimensions)
        .flat_map(|p| p[..shown].iter().flat_map(|&v| (v as f32).to_le_bytes()))
        .collect();
    let mut value = json!({
        "rows": rows,
        "dimensions": shown,
        "points": STANDARD.encode(points),
        "palette": (0..COLOURS).map(palette::css).collect::<Vec<_>>(),
        "names": map.names.filter(|names| names.len() == rows),
    });
    if let Some(labels) = map.labels.filter(|l| l.of_row.len() == rows) {
        let of = labels.of_row.iter().map(|l| l.map_or(u16::MAX, |l| l.min(65_534) as u16));
        value["labels"] = json!({ "names": labels.names, "of": encode(of) });
    }
    let states = map.states.iter().filter(|(_, of)| of.len() == rows).map(|(name, of)| {
        let most = of.iter().max().map_or(0, |m| m + 1);
        json!({ "name": name, "count": most, "of": encode(of.iter().map(|&s| s as u16)) })
    });
    value["states"] = Value::Array(states.collect());
    if let Some((names, cells)) = &map.columns
        && !names.is_empty()
        && cells.len() == rows * names.len()
    {
        match map.picture.filter(|p| p.columns() == Some(names.len())) {
            Some(picture) => value["pictures"] = pictures(cells, rows, picture),
            None => value["columns"] = columns(names, cells, rows),
        }
    }
    // Nothing in a name may end the script.
    value.to_string().replace('<', "\\u003c")
}

fn encode(values: impl Iterator<Item = u16>) -> String {
    STANDARD.encode(values.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
}

/// Columns by their range, in 65,535 levels; missing cells are the last.
fn columns(names: &[String], cells: &[f64], rows: usize) -> Value {
    let width = names.len();
    let most = (COLUMN_BYTES / (2 * rows.max(1))).clamp(1, 200);
    let each = names.iter().enumerate().take(most).map(|(k, name)| {
        let of = || cells.iter().skip(k).step_by(width).copied();
        let finite = || of().filter(|v| v.is_finite());
        let low = finite().fold(f64::INFINITY, f64::min);
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let span = if high > low { high - low } else { 1.0 };
        let level = |v: f64| {
            if v.is_finite() { (65_534.0 * ((v - low) / span)).round() as u16 } else { u16::MAX }
        };
        json!({ "name": name, "low": low, "high": high, "of": encode(of().map(level)) })
    });
    let each: Vec<Value> = each.collect();
    json!({ "left_out": width - each.len(), "each": each })
}

/// Grey or coloured pictures, averaged down until they fit.
fn pictures(cells: &[f64], rows: usize, picture: mereo_core::Picture) -> Value {
    let (height, width, channels) = (picture.height, picture.width, picture.channels);
    let fits = |step: usize| {
        let (h, w) = (height.div_ceil(step), width.div_ceil(step));
        h.max(w) <= SIDE && rows * h * w * channels <= PICTURE_BYTES
    };
    let longest = height.max(width);
    let step = (1..longest).find(|&step| fits(step)).unwrap_or(longest.max(1));
    let (h, w) = (height.div_ceil(step), width.div_ceil(step));
    let finite = || cells.iter().copied().filter(|v| v.is_finite());
    let (low, high) =
        (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let span = if high > low { high - low } else { 1.0 };
    let mut bytes = Vec::with_capacity(rows * h * w * channels);
    for row in cells.chunks_exact(height * width * channels) {
        for y in 0..h {
            for x in 0..w {
                for c in 0..channels {
                    let (mut sum, mut count) = (0.0, 0.0);
                    for i in y * step..((y + 1) * step).min(height) {
                        for j in x * step..((x + 1) * step).min(width) {
                            let v = row[(i * width + j) * channels + c];
                            if v.is_finite() {
                                sum += v;
                                count += 1.0;
                            }
                        }
                    }
                    let mean = if count > 0.0 { (sum / count - low) / span } else { 0.0 };
                    bytes.push((255.0 * mean).round() as u8);
                }
            }
        }
    }
    json!({ "height": h, "width": w, "channels": channels, "of": STANDARD.encode(bytes) })
}
