//! Forsyth 9.1.5: objects cut out of twelve photographs by two sets of scribbles, with one setting for all.
//!
//! `cargo xtask experiments segmentation`. What is counted is the share of unmarked pixels that are wrong, the
//! border that truth leaves open apart. Reference: `OpenCV`'s `GrabCut` is wrong in 8.8% with few scribbles and
//! 3.7% with more (`benches/fields_peers.py` runs it beside us). Pictures are written to `target/figures`.

use std::time::Instant;

use mereo::segment::{SegmentMethod, SegmentParams, Segmented, Telling, segment};
use mereo_core::{Context, Result};
use mereo_data::{Pixels, read_labels, write};
use mereo_experiments::{figure, photographs, shared};

fn main() -> Result<()> {
    let Some(folder) = shared("segmentation") else { return Ok(()) };
    let mut names: Vec<String> = std::fs::read_dir(folder.join("truth"))
        .map_err(|e| mereo_core::Error::io(&folder, e))?
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    let pictures = photographs(&names)?;
    if pictures.is_empty() {
        return Ok(());
    }
    let context = Context::new(1).with_threads(0)?;
    let base = SegmentParams::default();
    let settings = [
        ("as it comes", base.clone()),
        ("without ways to marks", SegmentParams { geodesic: 0.0, ..base.clone() }),
        ("until it settles", SegmentParams { rounds: 10, ..base.clone() }),
        ("regression", SegmentParams { telling: Telling::Regression, ..base.clone() }),
        ("mean field", SegmentParams { method: SegmentMethod::MeanField, ..base.clone() }),
        ("no coupling", SegmentParams { strength: 0.0, ..base.clone() }),
    ];
    println!("wrong in percent of unmarked pixels      few    more   seconds a picture");
    for (title, params) in &settings {
        let (mut wrong, mut seconds, mut lines) = ([0.0; 2], 0.0, Vec::new());
        for (name, picture) in names.iter().zip(&pictures) {
            let truth = read_labels(&folder.join("truth").join(format!("{name}.png")))?;
            let mut line = vec![format!("  {name:>8}")];
            for (set, wrong) in ["scribbles-few", "scribbles-more"].iter().zip(&mut wrong) {
                let marks = read_labels(&folder.join(set).join(format!("{name}.png")))?;
                let start = Instant::now();
                let cut = segment(picture, Some(&marks.bytes), None, params, false, &context)?;
                seconds += start.elapsed().as_secs_f64();
                let share = error(&truth, &marks, &cut);
                *wrong += share / names.len() as f64;
                line.push(format!("  {:5.2}", 100.0 * share));
                if *title == "as it comes" && *set == "scribbles-few" {
                    draw(name, picture, &marks, &cut)?;
                }
            }
            lines.push(line.concat());
        }
        let each = seconds / (2 * names.len()) as f64;
        let [few, more] = wrong.map(|w| 100.0 * w);
        println!("{title:<36} {few:>7.2} {more:>7.2} {each:>9.3}");
        if *title == "as it comes" {
            println!("{}", lines.join("\n"));
        }
    }
    Ok(())
}

/// The share of unmarked pixels that are wrong.
fn error(truth: &Pixels, marks: &Pixels, cut: &Segmented) -> f64 {
    let (mut wrong, mut all) = (0.0, 0.0f64);
    for ((truth, mark), label) in truth.bytes.iter().zip(&marks.bytes).zip(&cut.labels) {
        if *mark == 0 && *truth != 128 {
            all += 1.0;
            wrong += f64::from(u8::from((*truth == 255) != (*label == 1)));
        }
    }
    wrong / all.max(1.0)
}

/// The photograph with its scribbles, and the object cut out.
fn draw(name: &str, picture: &Pixels, marks: &Pixels, cut: &Segmented) -> Result<()> {
    let (height, width) = (picture.height, picture.width);
    let mut bytes = vec![0; height * (2 * width + 4) * 3];
    for y in 0..height {
        for x in 0..width {
            let i = y * width + x;
            let pixel = &picture.bytes[3 * i..3 * i + 3];
            let row = y * (2 * width + 4);
            let shown = match marks.bytes[i] {
                1 => [255, 60, 60],
                2 => [60, 120, 255],
                _ => [pixel[0], pixel[1], pixel[2]],
            };
            bytes[(row + x) * 3..(row + x) * 3 + 3].copy_from_slice(&shown);
            let kept = if cut.labels[i] == 1 { pixel } else { &[255; 3] };
            let at = (row + width + 4 + x) * 3;
            bytes[at..at + 3].copy_from_slice(kept);
        }
    }
    let file = figure(&format!("segmentation_{name}"))?;
    write::write_pixels(&file, &Pixels { height, width: 2 * width + 4, channels: 3, bytes })
}
