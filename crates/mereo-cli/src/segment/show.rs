//! `mereo show` of what tells labels of pixels.

use std::fmt::Write as _;
use std::path::Path;

use mereo::segment::{Colours, Told};
use mereo_core::{ModelFile, Result};
use serde_json::json;

use crate::output;

pub(crate) fn show(file: ModelFile, path: &Path, as_json: bool) -> Result<()> {
    let shapes: serde_json::Map<String, serde_json::Value> =
        file.tensors().map(|(name, tensor)| (name.to_owned(), json!(tensor.shape))).collect();
    let manifest = file.manifest.clone();
    let colours = Colours::from_file(file, path)?;
    if as_json {
        return output::print_json(&json!({
            "model": Colours::KIND,
            "file": path.to_string_lossy(),
            "labels": colours.values(),
            "strength": colours.strength(),
            "manifest": manifest,
            "tensors": shapes,
        }));
    }
    let labels: Vec<String> = colours.values().iter().map(u8::to_string).collect();
    let mut text = format!("what tells the labels {} of pixels\n", labels.join(", "));
    // Writing to a string does not fail.
    match colours.told() {
        Told::Regression(regression) => {
            let _ = writeln!(text, "by a regression on {} features", regression.features());
        }
        Told::Mixtures(mixtures) => {
            for (label, mixture) in colours.values().iter().zip(mixtures) {
                let _ =
                    writeln!(text, "label {label}: {} colours (L*, a*, b*)", mixture.components());
                for (share, mean) in mixture.weight().iter().zip(mixture.mean().chunks_exact(3)) {
                    let [l, a, b] = [mean[0], mean[1], mean[2]];
                    let _ = writeln!(text, "  {:5.1}%  {l:6.1} {a:6.1} {b:6.1}", 100.0 * share);
                }
            }
        }
    }
    if let Some(strength) = colours.strength() {
        let _ =
            writeln!(text, "neighbours that look alike are coupled with strength {strength:.2}");
    }
    text.push_str("mereo segment PICTURE --model uses it\n");
    output::print(&text)
}
