//! `mereo show`: what is in a model file.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo::segment::Colours;
use mereo::{AnyModel, Fitted, Mapped, Standing};
use mereo_core::{
    Appearance, ComponentsView, Context, ModelFile, PartsView, Picture, Result, Status, column_name,
};
use serde_json::{Value, json};

use crate::fit::sizes_in_words;
use crate::{map, output, segment};

/// Columns named for each part.
const STRONGEST: usize = 8;
/// Parts told of, and states of each.
const MOST_PARTS: usize = 40;
const MOST_STATES: usize = 12;
/// The largest picture that is drawn in letters.
const MOST_SIDE: usize = 64;
/// Columns named for each state, raised and lowered; and columns that no part explains.
const CONSPICUOUS: usize = 4;
const DOUBTFUL: usize = 12;
/// Columns named in which a state stands out from the whole.
const STANDS_OUT: usize = 5;
/// A column that a state moves by less than this share of what moves most is not worth a word.
const NOTABLE: f64 = 0.1;
/// A state that is less common is shown by no row.
const NOBODY: f64 = 1e-9;
/// A gate below this leaves a column undecided.
const DECIDED: f64 = 0.5;

/// Show what is in a model file
///
/// Its kind and size, its parts with the columns that say most about each, how common their
/// states are, and how it was learned. For pictures, a map of letters shows which part each pixel
/// belongs to. --json prints the manifest, the tensors' shapes and the same summary.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo show model.safetensors
  mereo show model.safetensors --json | jq .manifest.training.bound
  mereo show mereo-demo/model.safetensors | less")]
pub(crate) struct ShowArgs {
    /// The model file
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ShowArgs) -> Result<ExitCode> {
    let file = ModelFile::read(&args.model)?;
    if Mapped::is_in(&file) {
        map::show(file, &args.model, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if file.manifest.model == Colours::KIND {
        segment::show(file, &args.model, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let shapes: serde_json::Map<String, Value> =
        file.tensors().map(|(name, tensor)| (name.to_owned(), json!(tensor.shape))).collect();
    let fitted = Fitted::from_file(file, &args.model)?;
    let mut parts: Vec<Part> = fitted.model.parts().map_or_else(Vec::new, |view| of_view(&view));
    if let Some(told) = fitted.states_in_words(&Context::new(0))? {
        let states = parts.iter_mut().flat_map(|part| &mut part.stands_out);
        states.zip(told).for_each(|(own, told)| *own = told);
    }
    if args.json {
        let names = fitted.manifest.columns.as_deref();
        output::print_json(&json!({
            "model": fitted.model.kind(),
            "columns": fitted.model.columns(),
            "manifest": fitted.manifest,
            "tensors": shapes,
            "criteria": fitted.criteria(),
            "layers": layers(&fitted.model),
            "components": fitted.model.components().map(|view| components_in_json(&view, names)),
            "doubtful_columns": fitted.model.parts().map_or_else(Vec::new, |view| doubtful(&view)),
            "classes": fitted.model.classes().map(|classes| json!({
                "names": fitted.class_names(),
                "prior": classes.prior,
                // As the tensor is called.
                (if shapes.contains_key("factor_mean") { "factor_mean" } else { "state_prior" }):
                    classes.class_state_prior,
            })),
            "parts": parts.iter().map(|part| part.in_json(names)).collect::<Vec<_>>(),
        }))?;
    } else {
        output::print(&in_words(&fitted, &parts))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A layer in short.
#[derive(serde::Serialize)]
struct LayerUse {
    /// 1 is the top one.
    layer: usize,
    kind: &'static str,
    /// How common each component is.
    usage: Vec<f64>,
}

fn layers(model: &AnyModel) -> Option<Vec<LayerUse>> {
    let model = model.layers()?;
    let of = |l: usize| LayerUse { layer: l + 1, kind: model.layer_kind(l), usage: model.usage(l) };
    Some((0..model.sizes().len()).map(of).collect())
}

/// A part in short.
struct Part {
    /// How many columns belong to it most.
    columns: usize,
    /// Those that say most about its states: column and gate.
    strongest: Vec<(usize, f64)>,
    state_prior: Vec<f64>,
    /// If it does not choose among states, how many factors it moves along.
    factors: Option<usize>,
    /// For each state the columns that it raises most, and those that it lowers most.
    states: Vec<[Vec<usize>; 2]>,
    /// Where each state stands out from the whole, in the data's words.
    stands_out: Vec<Vec<Standing>>,
}

fn of_view(view: &PartsView<'_>) -> Vec<Part> {
    let part_of_column = view.part_of_column();
    (0..view.parts)
        .map(|part| {
            let prior = &view.state_prior[part * view.states..(part + 1) * view.states];
            let own: Vec<usize> = (0..view.columns)
                .filter(|&d| view.appearance == Appearance::Sums || part_of_column[d] == part)
                .collect();
            // How much the states differ in a column, as far as the column is the part's.
            let gate = |d: usize| view.gate_of(d)[part];
            let mut told: Vec<(usize, f64)> =
                own.iter().map(|&d| (d, gate(d) * view.spread(part, d))).collect();
            told.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            told.truncate(STRONGEST);
            Part {
                columns: own.len(),
                strongest: told.into_iter().map(|(d, _)| (d, gate(d))).collect(),
                state_prior: prior.to_vec(),
                factors: (view.appearance == Appearance::Factors).then_some(view.states / 2),
                states: (0..view.states).map(|state| conspicuous(view, part, state)).collect(),
                stands_out: vec![Vec::new(); view.states],
            }
        })
        .collect()
}

/// The columns that a state raises and lowers most, compared with the part's other states.
fn conspicuous(view: &PartsView<'_>, part: usize, state: usize) -> [Vec<usize>; 2] {
    let moved = view.conspicuousness(part, state);
    let most = moved.iter().fold(0.0f64, |most, m| most.max(m.abs()));
    [1.0, -1.0].map(|sign| {
        let mut order: Vec<usize> =
            (0..moved.len()).filter(|&d| sign * moved[d] > NOTABLE * most).collect();
        order.sort_by(|&a, &b| (sign * moved[b]).total_cmp(&(sign * moved[a])).then(a.cmp(&b)));
        order.truncate(CONSPICUOUS);
        order
    })
}

impl Part {
    fn in_json(&self, names: Option<&[String]>) -> Value {
        let strongest: Vec<Value> = self
            .strongest
            .iter()
            .map(|&(d, gate)| json!({"column": d, "name": column_name(names, d), "gate": gate}))
            .collect();
        if let Some(factors) = self.factors {
            return json!({"columns": self.columns, "strongest": strongest, "factors": factors});
        }
        let named = |columns: &[usize]| -> Vec<String> {
            columns.iter().map(|&d| column_name(names, d)).collect()
        };
        let states: Vec<Value> = self
            .states
            .iter()
            .zip(&self.state_prior)
            .zip(&self.stands_out)
            .map(|(([up, down], prior), told)| {
                json!({
                    "prior": prior,
                    "raises": named(up),
                    "lowers": named(down),
                    "stands_out": told,
                })
            })
            .collect();
        json!({
            "columns": self.columns,
            "strongest": strongest,
            "state_prior": self.state_prior,
            "states_in_use": self.states_in_use(),
            "states": states,
        })
    }

    /// The exponential of the prior's entropy: so many equally common states would be as varied.
    fn states_in_use(&self) -> f64 {
        let entropy: f64 = self.state_prior.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
        entropy.exp()
    }
}

fn in_words(fitted: &Fitted, parts: &[Part]) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_words(&mut text, fitted, parts);
    text
}

fn write_words(text: &mut String, fitted: &Fitted, parts: &[Part]) -> std::fmt::Result {
    let manifest = &fitted.manifest;
    let (states, called) = parts.first().map_or((0, ""), |part| match part.factors {
        Some(factors) => (factors, "factors"),
        None => (part.state_prior.len(), "states"),
    });
    match fitted.model.members() {
        [] => write!(text, "{} model of {} columns", fitted.model.kind(), fitted.model.columns())?,
        _ => write!(
            text,
            "{} models of {} columns",
            fitted.model.described(),
            fitted.model.columns()
        )?,
    }
    match parts.len() {
        0 => {
            if let Some(view) = fitted.model.components() {
                write!(text, ": {} components", view.component.len() / view.columns.max(1))?;
            }
        }
        1 => write!(text, ": {states} {called}")?,
        many => write!(text, ": {many} parts of {states} {called}")?,
    }
    if let Some(model) = fitted.model.features() {
        write!(text, ": ")?;
        if model.sets() > 1 {
            write!(text, "{} sets of ", model.sets())?;
        }
        write!(text, "{} features", model.features())?;
    }
    if let Some(Picture { height, width, channels }) = manifest.picture {
        write!(text, "; pictures of {height} x {width}")?;
        if channels != 1 {
            write!(text, " x {channels}")?;
        }
    }
    writeln!(text)?;
    if let Some(training) = &manifest.training {
        let ended = match training.status {
            Status::Converged => "converged",
            Status::PassLimit => "still rising when the passes ran out",
            Status::Interrupted => "interrupted",
            Status::Behind => "behind another start",
            Status::EarlyStop => "stopped when rows held out gained no more",
            Status::Diverged => "diverged: the last good state was kept",
        };
        if fitted.model.members().is_empty() {
            writeln!(
                text,
                "learned from {} rows: bound {:.4} nats a row after {} passes ({ended}), best of {} \
             starts, seed {}",
                training.rows,
                training.bound_per_row(),
                training.passes,
                training.restarts.len(),
                training.seed
            )?;
        } else {
            let (rows, bound) = (training.rows, training.bound_per_row());
            writeln!(
                text,
                "learned from {rows} rows: bound {bound:.4} nats a row, the mean of all members' ({ended})"
            )?;
            let weight = training.total_weight().max(f64::MIN_POSITIVE);
            for (number, own) in training.restarts.iter().enumerate() {
                let seed = training.seed.wrapping_add(number as u64);
                let bound = own.bounds.last().map_or(f64::NAN, |bound| bound / weight);
                let passes = own.bounds.len().saturating_sub(1);
                writeln!(
                    text,
                    "member {number}: bound {bound:.4} after {passes} passes, seed {seed}"
                )?;
            }
        }
    }
    let counted = fitted.criteria();
    if let Some(counted) = counted {
        writeln!(
            text,
            "{} free parameters: AIC {:.1}, BIC {:.1}",
            counted.parameters, counted.aic, counted.bic
        )?;
    }
    for layer in layers(&fitted.model).iter().flatten() {
        let shown = layer.usage.iter().take(MOST_PARTS).map(|u| format!("{u:.3}"));
        let shown: Vec<String> = shown.collect();
        let rest = if layer.usage.len() > MOST_PARTS { " ..." } else { "" };
        let (number, kind) = (layer.layer, layer.kind);
        writeln!(text, "layer {number} ({kind}), components used: {}{rest}", shown.join(" "))?;
    }
    if let Some(classes) = fitted.model.classes() {
        let named = fitted.class_names();
        let each = named.iter().zip(classes.prior).take(MOST_STATES);
        let each: Vec<String> =
            each.map(|(name, p)| format!("{} {p:.3}", output::name(name))).collect();
        let rest = if named.len() > MOST_STATES { " ..." } else { "" };
        writeln!(text, "{} classes: {}{rest}", named.len(), each.join(", "))?;
    }
    if let Some(steps) = &fitted.steps {
        writeln!(text, "prepared by {}", steps.names().collect::<Vec<_>>().join(", "))?;
    }
    if let Some(model) = fitted.model.features() {
        for (set, usage) in model.usage().chunks(model.features()).take(MOST_PARTS).enumerate() {
            let usage: Vec<String> = usage.iter().map(|u| format!("{u:.3}")).collect();
            let share = model.set_prior()[set];
            writeln!(
                text,
                "set {set}: {share:.3} of the rows; features used: {}",
                usage.join(" ")
            )?;
        }
    }
    for (number, part) in parts.iter().take(MOST_PARTS).enumerate() {
        write_part(text, fitted, number, part, parts.len())?;
    }
    if parts.len() > MOST_PARTS {
        writeln!(text, "\n... and {} more parts (--json has all)", parts.len() - MOST_PARTS)?;
    }
    if let Some(view) = fitted.model.parts().filter(|view| view.parts > 1) {
        let doubtful = doubtful(&view);
        if manifest.picture.is_none() && !doubtful.is_empty() {
            let names = manifest.columns.as_deref();
            let named = doubtful.iter().take(DOUBTFUL).map(|&d| {
                let entropy = mereo_core::math::entropy_bits(view.gate_of(d));
                format!("{} ({entropy:.2} bits)", output::name(&column_name(names, d)))
            });
            let named = named.collect::<Vec<_>>().join(", ");
            let rest = if doubtful.len() > DOUBTFUL { " ..." } else { "" };
            writeln!(text, "\n{} columns that no part has most of: {named}{rest}", doubtful.len())?;
        }
    }
    let gated = fitted.model.parts().filter(|view| view.appearance != Appearance::Sums);
    if let (Some(picture), Some(view)) = (manifest.picture, gated) {
        write_map(text, picture, &view)?;
    }
    if let Some(view) = fitted.model.components() {
        write_components(text, fitted, &view)?;
    }
    if !manifest.sizes.is_empty() {
        write!(text, "\nsizes that were tried\n{}", sizes_in_words(&manifest.sizes))?;
        let chosen = manifest.sizes.iter().find(|size| size.chosen);
        if let Some(size) = chosen.filter(|size| (size.parts, size.states) != (parts.len(), states))
        {
            writeln!(
                text,
                "of {} parts of {} states, those without columns were left out, and states that looked alike are one",
                size.parts, size.states
            )?;
        }
    }
    Ok(())
}

/// The columns that a component has most of, with what it has.
fn strongest(component: &[f64]) -> Vec<(usize, f64)> {
    let mut told: Vec<(usize, f64)> = component.iter().copied().enumerate().collect();
    told.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    told.truncate(STRONGEST);
    told
}

/// The share of all variance along each component, where the model knows it.
fn shares(view: &ComponentsView<'_>) -> Option<Vec<f64>> {
    let (own, total) = (view.explained_variance?, view.total_variance?);
    Some(own.iter().map(|v| v / total).collect())
}

fn components_in_json(view: &ComponentsView<'_>, names: Option<&[String]>) -> Vec<Value> {
    let shares = shares(view);
    let of = |(i, component): (usize, &[f64])| {
        let columns: Vec<Value> = strongest(component)
            .into_iter()
            .map(|(d, w)| json!({"column": d, "name": column_name(names, d), "loading": w}))
            .collect();
        json!({
            "explained_variance": view.explained_variance.map(|v| v[i]),
            "share": shares.as_ref().map(|s| s[i]),
            "strongest": columns,
        })
    };
    view.component.chunks_exact(view.columns.max(1)).enumerate().map(of).collect()
}

fn write_components(
    text: &mut String,
    fitted: &Fitted,
    view: &ComponentsView<'_>,
) -> std::fmt::Result {
    let names = fitted.manifest.columns.as_deref();
    let shares = shares(view);
    let count = view.component.len() / view.columns.max(1);
    for (i, component) in view.component.chunks_exact(view.columns.max(1)).enumerate() {
        if i == MOST_PARTS {
            return writeln!(text, "\n... and {} more components (--json has all)", count - i);
        }
        write!(text, "\ncomponent {i}")?;
        if let (Some(shares), Some(variance)) = (&shares, view.explained_variance) {
            write!(text, ": variance {:.4}, {:.1}% of all", variance[i], 100.0 * shares[i])?;
        }
        let named: Vec<String> = strongest(component)
            .into_iter()
            .map(|(d, w)| {
                let name = match (names, fitted.manifest.picture) {
                    (None, Some(p)) => pixel(d, p),
                    _ => output::name(&column_name(names, d)),
                };
                format!("{name} ({w:+.3})")
            })
            .collect();
        writeln!(text, "\n  strongest columns: {}", named.join(", "))?;
    }
    Ok(())
}

fn write_part(
    text: &mut String,
    fitted: &Fitted,
    number: usize,
    part: &Part,
    of: usize,
) -> std::fmt::Result {
    let names = fitted.manifest.columns.as_deref();
    writeln!(text)?;
    if of > 1 {
        let letter = letter(number).map_or(String::new(), |c| format!(" ({c})"));
        writeln!(text, "part {number}{letter}: {} columns", part.columns)?;
    } else {
        writeln!(text, "{}", if part.factors.is_some() { "factors" } else { "states" })?;
    }
    if part.columns == 0 {
        return writeln!(text, "  not in use");
    }
    if !part.strongest.is_empty() {
        let named: Vec<String> = part
            .strongest
            .iter()
            .map(|&(d, gate)| {
                let name = match (names, fitted.manifest.picture) {
                    (None, Some(p)) => pixel(d, p),
                    _ => output::name(&column_name(names, d)),
                };
                if of > 1 && gate < 0.995 { format!("{name} ({gate:.2})") } else { name }
            })
            .collect();
        writeln!(text, "  strongest columns: {}", named.join(", "))?;
    }
    if part.factors.is_some() {
        return Ok(());
    }
    if part.stands_out.iter().any(|told| !told.is_empty()) {
        return write_states(text, part);
    }
    let shown: Vec<String> =
        part.state_prior.iter().take(MOST_STATES).map(|p| format!("{p:.3}")).collect();
    let rest = if part.state_prior.len() > MOST_STATES { " ..." } else { "" };
    let in_use = part.states_in_use();
    writeln!(text, "  states: {}{rest} (as varied as {in_use:.1} equal ones)", shown.join(" "))?;
    if fitted.manifest.picture.is_some() {
        return Ok(());
    }
    for (state, [up, down]) in part.states.iter().enumerate().take(MOST_STATES) {
        let named = |columns: &[usize]| {
            let shown = columns.iter().map(|&d| output::name(&column_name(names, d)));
            shown.collect::<Vec<_>>().join(", ")
        };
        match (up.is_empty(), down.is_empty()) {
            (true, true) => {}
            (false, true) => writeln!(text, "    state {state} raises {}", named(up))?,
            (true, false) => writeln!(text, "    state {state} lowers {}", named(down))?,
            (false, false) => {
                writeln!(text, "    state {state} raises {}; lowers {}", named(up), named(down))?;
            }
        }
    }
    Ok(())
}

/// States in the data's words, the most common first.
fn write_states(text: &mut String, part: &Part) -> std::fmt::Result {
    let mut order: Vec<usize> =
        (0..part.state_prior.len()).filter(|&j| part.state_prior[j] >= NOBODY).collect();
    order.sort_by(|&a, &b| part.state_prior[b].total_cmp(&part.state_prior[a]).then(a.cmp(&b)));
    for &state in order.iter().take(MOST_STATES) {
        let told = part.stands_out[state].iter().take(STANDS_OUT);
        let told: Vec<String> = told.map(|standing| output::name(&standing.text)).collect();
        let told = if told.is_empty() { "like the whole".to_owned() } else { told.join(", ") };
        let share = 100.0 * part.state_prior[state];
        let digits = usize::from(share < 1.0);
        writeln!(text, "  state {state}, {share:.digits$}% of rows: {told}")?;
    }
    if order.len() > MOST_STATES {
        writeln!(text, "  ... and {} rarer states (--json has all)", order.len() - MOST_STATES)?;
    }
    Ok(())
}

/// Columns of which no part has most, the least certain first.
fn doubtful(view: &PartsView<'_>) -> Vec<usize> {
    if view.appearance == Appearance::Sums {
        return Vec::new();
    }
    let gates = |d: usize| view.gate_of(d);
    let mut found: Vec<usize> =
        (0..view.columns).filter(|&d| gates(d).iter().all(|&g| g <= DECIDED)).collect();
    let entropy = |d: usize| mereo_core::math::entropy_bits(gates(d));
    found.sort_by(|&a, &b| entropy(b).total_cmp(&entropy(a)).then(a.cmp(&b)));
    found
}

/// A pixel's place, `(row,column)`, from the top left.
fn pixel(column: usize, picture: Picture) -> String {
    let across = (picture.width * picture.channels).max(1);
    format!("({},{})", column / across, column % across / picture.channels.max(1))
}

/// The letter of a part on the map.
fn letter(part: usize) -> Option<char> {
    let letters = ('A'..='Z').chain('a'..='z');
    letters.into_iter().nth(part)
}

fn write_map(text: &mut String, picture: Picture, view: &PartsView<'_>) -> std::fmt::Result {
    if view.parts < 2 || picture.height > MOST_SIDE || picture.width > MOST_SIDE {
        return Ok(());
    }
    writeln!(text, "\nthe part that each pixel belongs to (. where none has most of it)")?;
    for row in 0..picture.height {
        text.push_str("  ");
        for column in 0..picture.width {
            let gates = view.gate_of((row * picture.width + column) * picture.channels);
            let best = (0..view.parts).max_by(|&a, &b| gates[a].total_cmp(&gates[b]));
            let decided = best.filter(|&part| gates[part] > DECIDED);
            text.push(decided.map_or('.', |part| letter(part).unwrap_or('*')));
        }
        text.push('\n');
    }
    Ok(())
}
