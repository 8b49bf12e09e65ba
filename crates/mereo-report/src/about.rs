//! How to use the model, and everything the file says of itself.

use maud::html;
use serde_json::Value;

use crate::page::Section;
use crate::text;
use crate::view::View;

/// Most parameters listed.
const PARAMS: usize = 80;

pub(crate) fn section(view: &View<'_>) -> Section {
    let manifest = view.subject.manifest;
    let model = quoted(view.subject.model_file.unwrap_or("model.safetensors"));
    let data = view.subject.data_file.map_or_else(|| "DATA".to_owned(), quoted);
    let mut facts: Vec<(String, String)> = vec![("model".to_owned(), text::name(&manifest.model))];
    flatten("", &manifest.params, &mut facts);
    flatten("steps", &manifest.steps, &mut facts);
    if let Some(training) = &manifest.training {
        facts.push(("seed".to_owned(), training.seed.to_string()));
    }
    if let Some(fingerprint) = &manifest.fingerprint {
        facts.push(("data fingerprint".to_owned(), text::name(fingerprint)));
    }
    facts.push(("file format".to_owned(), manifest.format.to_string()));
    let left_out = facts.len().saturating_sub(PARAMS);
    facts.truncate(PARAMS);
    let linear = view.components.is_some();
    // Components without a mean are those of a model without a density.
    let density = view.components.is_none_or(|c| c.mean.is_some());
    let coded = if linear { "how much of each component" } else { "which state each part is in" };
    let commands = [
        ("how well the model explains each row", format!("mereo score {model} {data}")),
        (coded, format!("mereo encode {model} {data} -o codes.csv")),
        (
            "rows as the model sees them, gaps filled",
            format!("mereo reconstruct {model} {data} -o filled.csv"),
        ),
        ("new rows", format!("mereo sample {model} -o samples.csv")),
    ];
    let commands = commands.into_iter().filter(|(_, c)| {
        density || !(c.starts_with("mereo score") || c.starts_with("mereo sample"))
    });
    let commands: Vec<_> = commands.collect();
    let body = html! {
        div.commands {
            @for (what, command) in &commands {
                div { span.quiet { (what) } div.scroll tabindex="0" role="region" aria-label=(what) { code { (command) } } }
            }
        }
        h3 { "What the file says of itself" }
        dl.params {
            @for (name, value) in &facts {
                div { dt { bdi { (name) } } dd { bdi { (value) } } }
            }
        }
        @if left_out > 0 { p.quiet { (text::count(left_out)) " more are not listed." } }
        p.quiet.colophon {
            "Written by mereo " (env!("CARGO_PKG_VERSION"))
            ". On this page parts, states, rows and columns without names are counted from " (text::FIRST) "."
        }
    };
    Section { id: "use", short: "Use it".to_owned(), heading: "Use it".to_owned(), body }
}

/// A file name as a shell wants it.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "._-/+=:@%".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// Nested settings as a list of names and values.
fn flatten(prefix: &str, value: &Value, out: &mut Vec<(String, String)>) {
    if out.len() > PARAMS * 4 {
        return;
    }
    let deeper =
        |key: &str| if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
    match value {
        Value::Null if prefix.is_empty() || prefix == "steps" => {}
        Value::Object(map) => map.iter().for_each(|(k, v)| flatten(&deeper(k), v, out)),
        Value::Array(list) if list.iter().any(|v| v.is_object() || v.is_array()) => {
            list.iter().enumerate().for_each(|(i, v)| flatten(&deeper(&i.to_string()), v, out));
        }
        Value::String(text) => out.push((text::name(prefix), text::name(text))),
        Value::Null => out.push((text::name(prefix), "–".to_owned())),
        other => out.push((text::name(prefix), text::name(&other.to_string()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_listed_flat() {
        let value = serde_json::json!({"a": 1, "b": {"c": [1, 2], "d": null}, "e": [{"f": "g"}]});
        let mut out = Vec::new();
        flatten("", &value, &mut out);
        let expected = [("a", "1"), ("b.c", "[1,2]"), ("b.d", "–"), ("e.0.f", "g")];
        assert_eq!(out, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }

    #[test]
    fn odd_file_names_are_quoted() {
        assert_eq!(quoted("a b's"), "'a b'\\''s'");
        assert_eq!(quoted("a.csv"), "a.csv");
    }
}
