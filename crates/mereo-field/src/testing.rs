//! Random fields, and all states of small ones.

use mereo_core::Context;
use rand::RngExt;

use crate::{Field, Pairwise};

/// A connected random field with loops: each variable is coupled to an earlier one, and half of the
/// other pairs are coupled too. Couplings are from `-strength` to `strength`.
pub(crate) fn random_field(
    context: &Context,
    variables: usize,
    labels: usize,
    strength: f64,
) -> Field {
    let mut random = context.random("field", [variables as u64, labels as u64]);
    let sizes: Vec<usize> = (0..variables).map(|_| random.random_range(2..=labels)).collect();
    let mut number = |most: f64| (random.random::<f64>() * 2.0 - 1.0) * most;
    let unary = sizes.iter().map(|&n| (0..n).map(|_| number(1.0)).collect()).collect();
    let mut field = Field::new(unary).unwrap();
    for b in 1..variables {
        let parent = ((number(0.5) + 0.5) * b as f64) as usize;
        for a in 0..b {
            if a == parent.min(b - 1) || number(1.0) > 0.0 {
                let table = (0..sizes[a] * sizes[b]).map(|_| number(strength)).collect();
                field.couple(a, b, table).unwrap();
            }
        }
    }
    field
}

/// As [`random_field`], without loops.
pub(crate) fn random_tree(
    context: &Context,
    variables: usize,
    labels: usize,
    strength: f64,
) -> Field {
    let mut random = context.random("tree", [variables as u64, labels as u64]);
    let sizes: Vec<usize> = (0..variables).map(|_| random.random_range(1..=labels)).collect();
    let unary = sizes.iter().map(|&n| (0..n).map(|_| random.random_range(-1.0..1.0)).collect());
    let mut field = Field::new(unary.collect()).unwrap();
    for b in 1..variables {
        // Now and then a new tree begins.
        if random.random_range(0..6) > 0 {
            let a = random.random_range(0..b);
            let table = (0..sizes[a] * sizes[b]).map(|_| random.random_range(-strength..strength));
            field.couple(a, b, table.collect()).unwrap();
        }
    }
    field
}

/// A field of two labels whose neighbours rather agree.
pub(crate) fn random_submodular(context: &Context, variables: usize, strength: f64) -> Field {
    let mut random = context.random("submodular", [variables as u64, 0]);
    let unary = (0..variables).map(|_| (0..2).map(|_| random.random_range(-2.0..2.0)).collect());
    let mut field = Field::new(unary.collect()).unwrap();
    for b in 1..variables {
        for a in 0..b {
            if random.random_range(0..2) == 0 {
                let [p, q, r]: [f64; 3] = std::array::from_fn(|_| random.random_range(-1.0..1.0));
                let agree = random.random_range(0.0..strength);
                field.couple(a, b, vec![p, q, r, q + r - p + agree]).unwrap();
            }
        }
    }
    field
}

/// Every joint state.
pub(crate) fn states(field: &Field) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for i in 0..field.variables() {
        let longer = |x: &Vec<usize>| {
            let x = x.clone();
            (0..field.labels(i)).map(move |m| x.iter().copied().chain([m]).collect())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}
