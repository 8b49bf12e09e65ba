//! Computing what a report shows of classes.

use mereo_core::{ClassView, Context, Dense, Likelihood, PartsView, Real, Result, Source};
use mereo_report::{Drawn, ShownClasses};

use crate::Fitted;

/// Rows drawn from each class, and hybrids shown.
const SAMPLES: usize = 8;
const HYBRIDS: usize = 6;
/// Most classes that rows are drawn from.
const CLASSES: usize = 24;

/// What is known of a model's classes.
pub(super) struct Classes {
    names: Vec<String>,
    prior: Vec<f64>,
    class_state_prior: Vec<f64>,
    samples: Vec<Imagined>,
    hybrids: Vec<Imagined>,
    labels: Vec<String>,
    counts: Vec<usize>,
}

struct Imagined {
    name: String,
    rows: Dense<f64>,
    command: String,
}

impl Classes {
    /// Nothing if the model has none.
    pub(super) fn of<T: Real>(
        fitted: &Fitted,
        data: Option<&dyn Source<T>>,
        model_name: &str,
        context: &Context,
    ) -> Result<Option<Self>> {
        let (Some(classes), Some(view)) = (fitted.model.classes(), fitted.model.parts()) else {
            return Ok(None);
        };
        let names = fitted.class_names();
        let imagine = |name: String, blend: &[Vec<(usize, f64)>], said: &str| {
            let hybrid = Fitted {
                path: fitted.path.clone(),
                model: fitted.model.hybrid(blend)?,
                manifest: fitted.manifest.clone(),
                steps: fitted.steps.clone(),
            };
            let rows = hybrid.sample(SAMPLES, false, context)?;
            let command = format!("mereo sample {model_name} -n 16 --no-noise {said} -o new.png");
            Ok(Imagined { name, rows, command })
        };
        let mut samples = Vec::new();
        for (n, name) in names.iter().enumerate().take(CLASSES) {
            let said = format!("--class {}", quoted(name));
            samples.push(imagine(name.clone(), &vec![vec![(n, 1.0)]; view.parts], &said)?);
        }
        let mut hybrids = Vec::new();
        for (base, guest, part) in pairs(&view, &classes) {
            let mut blend = vec![vec![(base, 1.0)]; view.parts];
            blend[part] = vec![(guest, 1.0)];
            let (base, guest) = (&names[base], &names[guest]);
            let name = format!("{base}, with part {part} of {guest}");
            let said =
                format!("--class {} --class {}", quoted(base), quoted(&format!("{guest}:{part}")));
            hybrids.push(imagine(name, &blend, &said)?);
        }
        let mut shown = Self {
            names,
            prior: classes.prior.to_vec(),
            class_state_prior: classes.class_state_prior.to_vec(),
            samples,
            hybrids,
            labels: Vec::new(),
            counts: Vec::new(),
        };
        if let Some(data) = data
            && let Some(confusion) = fitted.classify(data, Likelihood::Bound, context)?.confusion
        {
            shown.counts = confusion.counts.concat();
            shown.labels = confusion.labels;
        }
        Ok(Some(shown))
    }

    /// What was drawn from each class, and from hybrids.
    pub(super) fn drawn(&self) -> [Vec<Drawn<'_>>; 2] {
        [&self.samples, &self.hybrids].map(|all| {
            all.iter()
                .map(|Imagined { name, rows, command }| Drawn { name, rows, command })
                .collect()
        })
    }

    /// For the report.
    pub(super) fn shown<'a>(
        &'a self,
        [samples, hybrids]: &'a [Vec<Drawn<'a>>; 2],
    ) -> ShownClasses<'a> {
        ShownClasses {
            samples,
            hybrids,
            labels: &self.labels,
            counts: &self.counts,
            ..ShownClasses::new(&self.names, &self.prior, &self.class_state_prior)
        }
    }
}

/// A class name as a shell takes it.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_.:,".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

/// Hybrids worth a look: a class with the part of another in which the two differ most, the most
/// different first.
fn pairs(view: &PartsView<'_>, classes: &ClassView<'_>) -> Vec<(usize, usize, usize)> {
    let count = classes.prior.len().min(CLASSES);
    let states = classes.class_state_prior.len() / (classes.prior.len() * view.parts);
    let slots = view.parts * states;
    let mut found = Vec::new();
    for base in 0..count {
        for guest in (0..count).filter(|&guest| guest != base) {
            let apart = |part: usize| -> f64 {
                let own = part * states..(part + 1) * states;
                let of =
                    |class: usize, slot: usize| classes.class_state_prior[class * slots + slot];
                own.map(|slot| (of(base, slot) - of(guest, slot)).abs()).sum()
            };
            let best = (0..view.parts).fold(0, |b, k| if apart(k) > apart(b) { k } else { b });
            found.push((apart(best), base, guest, best));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    // Each class is the base once before any is twice.
    let mut chosen = Vec::new();
    while chosen.len() < HYBRIDS && !found.is_empty() {
        let mut bases = Vec::new();
        found.retain(|&(_, base, guest, part)| {
            let fresh = !bases.contains(&base) && chosen.len() < HYBRIDS;
            if fresh {
                bases.push(base);
                chosen.push((base, guest, part));
            }
            !fresh
        });
    }
    chosen
}
