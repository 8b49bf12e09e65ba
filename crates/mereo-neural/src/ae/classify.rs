//! A classifier on top of an encoder: all of it learned from the labelled rows.

use mereo_core::math::softmax;
use mereo_core::{
    Batch, Context, Deal, Descender, Error, Facts, Look, Pass, Plan, Real, Result, RowTask, Silent,
    Source, Start, Statistics, Status, Told, descend, gather,
};
use serde::{Deserialize, Serialize};

use super::learner::AeLearner;
use crate::layers::{Given, Layer};
use crate::network::{Network, Trace};
use crate::optimise::{Pace, Walker};
use crate::slopes::Slopes;
use crate::units::{Cells, Units};
use crate::weights::Weights;

/// Steps that few labels get at least.
const LEAST_STEPS: usize = 1000;

/// An encoder with a last layer that tells classes apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Classifier {
    pub(crate) network: Network,
    pub(crate) weights: Weights,
    /// How common each class is among the labels.
    pub(crate) prior: Vec<f64>,
}

/// Counts labels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LabelsTask {
    classes: usize,
}

/// Weight of the rows of each label, and their number.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LabelCounts {
    weight: Vec<f64>,
    rows: usize,
}

impl Statistics for LabelCounts {
    fn merge(&mut self, other: &Self) {
        self.weight.iter_mut().zip(&other.weight).for_each(|(a, b)| *a += b);
        self.rows += other.rows;
    }

    fn reset(&mut self) {
        self.weight.fill(0.0);
        self.rows = 0;
    }
}

impl<T: Real> RowTask<T> for LabelsTask {
    const NAME: &'static str = "labels";
    type Statistics = LabelCounts;

    fn statistics(&self) -> LabelCounts {
        LabelCounts { weight: vec![0.0; self.classes], rows: 0 }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, counts: &mut LabelCounts) {
        for (row, label) in batch.labels.unwrap_or_default().iter().enumerate() {
            if let Some(weight) = label.and_then(|label| counts.weight.get_mut(label as usize)) {
                *weight += batch.weight(row);
                counts.rows += usize::from(batch.weight(row) > 0.0);
            }
        }
    }
}

/// Learns classes of rows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HeadLearner {
    units: Units,
    network: Network,
    pace: Pace,
    facts: Facts,
}

/// Memory for looking at rows.
#[derive(Debug)]
pub(crate) struct HeadWork<T> {
    cells: Cells<T>,
    trace: Trace<T>,
    slopes: Vec<T>,
}

impl<T: Real> Descender<T> for HeadLearner {
    const NAME: &'static str = "classifier";
    type State = Walker<T>;
    type Gradient = Slopes<T>;
    type Workspace = HeadWork<T>;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn deal(&self) -> Deal {
        self.pace.deal()
    }

    fn wants(&self, label: Option<u32>) -> bool {
        label.is_some()
    }

    fn gradient(&self) -> Slopes<T> {
        Slopes::new(self.network.parameters())
    }

    fn workspace(&self) -> HeadWork<T> {
        HeadWork { cells: Cells::default(), trace: Trace::new(), slopes: Vec::new() }
    }

    fn accumulate(
        &self,
        state: &Walker<T>,
        _pass: Pass,
        look: Look,
        batch: &Batch<'_, T>,
        work: &mut HeadWork<T>,
        slopes: &mut Slopes<T>,
    ) {
        let HeadWork { cells, trace, slopes: by_outputs } = work;
        self.units.write(batch, cells);
        let classes = self.network.outputs();
        let made = self.network.forward(&state.parameters, batch.rows, &cells.inputs, trace);
        by_outputs.clear();
        for (row, logs) in made.chunks_exact(classes).enumerate() {
            let mut chances: Vec<f64> = logs.iter().map(|l| l.to_f64()).collect();
            let norm = softmax(&mut chances);
            let label = batch.labels.and_then(|labels| labels[row]).map_or(0, |l| l as usize);
            let weight = batch.weight(row);
            slopes.bound += weight * (logs[label].to_f64() - norm);
            by_outputs.extend(
                chances.iter().enumerate().map(|(class, chance)| {
                    T::from_f64(weight * (f64::from(class == label) - chance))
                }),
            );
        }
        if look == Look::Learn {
            let Walker { parameters, .. } = state;
            let given = Given { parameters, rows: batch.rows, inputs: &cells.inputs };
            self.network.backward(given, by_outputs, &mut slopes.gradient, false, trace);
        }
    }

    fn bound(&self, slopes: &Slopes<T>) -> f64 {
        slopes.bound
    }

    fn step(&self, state: &mut Walker<T>, slopes: &Slopes<T>, weight: f64, at: f64) {
        state.step(&self.pace, &slopes.gradient, slopes.bound, weight, at);
    }

    fn end_pass(&self, state: &mut Walker<T>, told: Told, pass: Pass) -> Option<Status> {
        state.end_pass(&self.pace, told, pass)
    }
}

/// Learns a classifier from an encoder that was learned before.
pub(super) fn learn<T: Real>(
    learned: &AeLearner<T>,
    encoder: &[T],
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
) -> Result<Classifier> {
    let classes = source.about().labels.as_ref().map_or(0, |labels| labels.names.len());
    let counts = gather(source, context, &LabelsTask { classes })?;
    let total: f64 = counts.weight.iter().sum();
    if !(total > 0.0) {
        let problem = "no row has a label: say which column holds them, or choose no classes";
        return Err(Error::option("labels", problem));
    }
    let mut network = learned.encoder.clone();
    network.layers.push(Layer::Dense { inputs: network.outputs(), outputs: classes });
    let pace = Pace { held_out: 0.0, ..learned.pace.clone() };
    let steps = counts.rows.div_ceil(pace.batch).max(1);
    let passes = plan.passes.max(LEAST_STEPS.div_ceil(steps));
    let plan = Plan { restarts: 1, passes, checkpoints: None, ..plan.clone() };
    let facts = Facts { weight: total, ..learned.facts };
    let learner = HeadLearner { units: learned.units.clone(), network, pace, facts };
    let start = |_| {
        let mut parameters = encoder.to_vec();
        parameters.resize(Descender::<T>::gradient(&learner).gradient.len(), T::ZERO);
        Ok(Start { state: Walker::new(parameters), how: "encoder".into() })
    };
    let state: Walker<T> = descend(&learner, start, source, &plan, context, &mut Silent)?.state;
    Ok(Classifier {
        weights: Weights::of(&state.chosen()),
        network: learner.network,
        prior: counts.weight.iter().map(|w| w / total).collect(),
    })
}
