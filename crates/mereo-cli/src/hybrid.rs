//! Classes by name, part by part: what `--class` says.

use mereo::Fitted;
use mereo_core::{Error, Result};

/// One `--class`: a class, the parts that it is for (all if none are named), its weight.
#[derive(Debug, PartialEq)]
struct Share {
    class: usize,
    parts: Vec<usize>,
    weight: f64,
}

/// For each part the classes to draw from, and their weights.
pub(crate) fn blend(fitted: &Fitted, wanted: &[String]) -> Result<Vec<Vec<(usize, f64)>>> {
    let (Some(classes), Some(view)) = (fitted.model.classes(), fitted.model.parts()) else {
        let problem = "this model has no classes; learn one with the option `classes`";
        return Err(Error::option("class", problem));
    };
    let names = fitted.class_names();
    let shares = wanted.iter().map(|text| share(text, &names)).collect::<Result<Vec<_>>>()?;
    if let Some(part) = shares.iter().flat_map(|s| &s.parts).find(|part| **part >= view.parts) {
        let problem = format!("there is no part {part}; the last is part {}", view.parts - 1);
        return Err(Error::option("class", problem));
    }
    let of_part = |part: usize| {
        let picked = |pick: &dyn Fn(&Share) -> bool| -> Vec<(usize, f64)> {
            shares.iter().filter(|s| pick(s)).map(|s| (s.class, s.weight)).collect()
        };
        let named = picked(&|s| s.parts.contains(&part));
        let general = picked(&|s| s.parts.is_empty());
        match (named.is_empty(), general.is_empty()) {
            (false, _) => named,
            (true, false) => general,
            (true, true) => classes.prior.iter().copied().enumerate().collect(),
        }
    };
    Ok((0..view.parts).map(of_part).collect())
}

/// `NAME[:PARTS][=WEIGHT]`. A name may have colons and equals signs of its own: the whole text is
/// tried first.
fn share(text: &str, names: &[String]) -> Result<Share> {
    let class_of = |name: &str| names.iter().position(|known| known == name);
    let with_parts = |text: &str| -> Option<(usize, Vec<usize>)> {
        if let Some(class) = class_of(text) {
            return Some((class, Vec::new()));
        }
        let (name, parts) = text.rsplit_once(':')?;
        let parts = parts.split(',').map(|p| p.trim().parse().ok()).collect::<Option<_>>()?;
        Some((class_of(name)?, parts))
    };
    if let Some((class, parts)) = with_parts(text) {
        return Ok(Share { class, parts, weight: 1.0 });
    }
    if let Some((rest, weight)) = text.rsplit_once('=')
        && let Ok(weight) = weight.trim().parse::<f64>()
        && let Some((class, parts)) = with_parts(rest)
    {
        if weight >= 0.0 && weight.is_finite() {
            return Ok(Share { class, parts, weight });
        }
        return Err(Error::option("class", format!("`{text}` has no weight from 0 up")));
    }
    let known = names.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", ");
    let problem = format!("`{text}` is not NAME[:PARTS][=WEIGHT] with one of the classes {known}");
    Err(Error::option("class", problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_parts_and_weights_are_told_apart() {
        let names = ["scream", "a:1", "b=2"].map(str::to_owned);
        let said = |text: &str| share(text, &names).map(|s| (s.class, s.parts, s.weight)).ok();
        assert_eq!(said("scream"), Some((0, vec![], 1.0)));
        assert_eq!(said("scream:2,3"), Some((0, vec![2, 3], 1.0)));
        assert_eq!(said("scream:2=0.5"), Some((0, vec![2], 0.5)));
        assert_eq!(said("a:1"), Some((1, vec![], 1.0)));
        assert_eq!(said("a:1:0=3"), Some((1, vec![0], 3.0)));
        assert_eq!(said("b=2"), Some((2, vec![], 1.0)));
        assert_eq!(said("b=2=4"), Some((2, vec![], 4.0)));
        for wrong in ["smile", "scream:x", "scream=-1", "scream:", "scream=NaN"] {
            assert_eq!(said(wrong), None, "{wrong}");
        }
    }
}
