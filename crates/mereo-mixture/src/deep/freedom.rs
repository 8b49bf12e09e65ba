//! How many numbers of a Deep Gaussian mixture are free: the dimension of its family of densities.
//!
//! Different layers can have the same density, and criteria that count parameters must count densities.
//! Write `G` for what the transforms of a kind may be: all of them are groups (any; a number for each column;
//! a number; a number times a rotation), so that one after another of the same kind is of that kind again.
//! The density depends on the mean `β_p` and the covariance `Ω_pΩ_pᵀ` of each path alone, and these stay what
//! they are
//!
//! - if a component of the top layer becomes `A R`, R any rotation, of its own for each component, since a
//!   rotated standard normal is one again. So the top layer counts its covariances `AAᵀ`: `D(D+1)/2`, D, or 1
//!   numbers. What is as a covariance but a number may be turned freely from below;
//! - if at the border of two layers *all* components above become `H A`, `H b + h`, and all below `A H⁻¹`,
//!   `b - A H⁻¹h`. The vector h is free, and H may be what is in the G of both layers. Scales let any
//!   H through: for layers of scales between two others, H is what is in the G of these, and each border
//!   has a number of its own.
//!
//! Nothing but the identity leaves all layers as they are, so each of these freedoms takes its full dimension
//! off the numbers that the layers have. Further,
//!
//! - a layer of one component is no layer where a neighbour can take it up: above or below, be it behind
//!   layers of scales, is one whose G contains its own. It is left out. Where it was the top layer, the next
//!   one now is, with a rotation to spare for each component;
//! - where the top layer, and perhaps more below it, are scales, their means span a plane of at most `Σ(N_i - 1)`
//!   dimensions, and covariances are numbers. A component of the next layer that is turned about that plane,
//!   each by a rotation of its own, makes the same of them: if its kind has rotations, these are
//!   `K(K-1)/2` numbers for K dimensions beside the plane, and at the border they were counted once only;
//! - no family has more dimensions than that of flat mixtures with a covariance for each path.
//!
//! Path weights are `P - 1` numbers, or `Σ(N_i - 1)` if they are products of one for each layer.
//!
//! All this is taken off only where it is known to be spare, so what comes out is an upper bound of the dimension.
//! It is the dimension for layers that are full or scales in any order, and for most others; it can be above
//! where a diagonal or an orthogonal layer stands between layers of other kinds. Tests find the dimension as the
//! rank of the derivatives of all `β_p` and `Ω_pΩ_pᵀ` at random layers. It is that of the family, not the place in it where learning ended: components that came
//! out alike, or unused, count fully.

use mereo_core::math::packed;

use super::LayerKind;

/// Layers by kind and number of components, the top one first.
pub(super) fn free_numbers(layers: &[(LayerKind, usize)], d: usize, factorised: bool) -> usize {
    let paths: usize = layers.iter().map(|layer| layer.1).product();
    let weights = if factorised { layers.iter().map(|layer| layer.1 - 1).sum() } else { paths - 1 };
    let mut own = layers.to_vec();
    while let Some(spare) = (0..own.len()).find(|&layer| is_spare(&own, layer)) {
        own.remove(spare);
    }
    let all = own.iter().enumerate().map(|(layer, &(kind, size))| {
        let transform = if layer == 0 { covariances(kind, d) } else { transforms(kind, d) };
        size * (transform + d)
    });
    let borders = (own.len() - 1) * (d + 1);
    let groups: Vec<LayerKind> = (0..own.len())
        .filter(|&layer| layer == 0 || own[layer].0 != LayerKind::Scale)
        .map(|layer| group(&own, layer))
        .collect();
    let through: usize = groups.windows(2).map(|pair| common(pair[0], pair[1], d) - 1).sum();
    let layered = all.sum::<usize>() - borders - through - rotations(&own, d);
    let widest = layers.iter().fold(LayerKind::Scale, |widest, &(kind, _)| match (widest, kind) {
        (own, other) if own.covers(other) => own,
        (own, other) if other.covers(own) => other,
        _ => LayerKind::Full,
    });
    layered.min(paths * (covariances(widest, d) + d)) + weights
}

/// What rotations about the means of a top layer of scales are free beyond those at its lower border.
fn rotations(layers: &[(LayerKind, usize)], d: usize) -> usize {
    if group(layers, 0) != LayerKind::Orthogonal {
        return 0;
    }
    let below = (1..layers.len()).find(|&layer| layers[layer].0 != LayerKind::Scale);
    let Some(below) = below.filter(|&layer| layers[layer].0.covers(LayerKind::Orthogonal)) else {
        return 0;
    };
    let plane: usize = layers[..below].iter().map(|layer| layer.1 - 1).sum();
    let beside = d.saturating_sub(plane);
    (layers[below].1 - 1) * (packed(beside) - beside)
}

/// What a layer can take up: the top one is turned freely if its covariances are but numbers.
fn group(layers: &[(LayerKind, usize)], layer: usize) -> LayerKind {
    match layers[layer].0 {
        LayerKind::Scale if layer == 0 => LayerKind::Orthogonal,
        kind => kind,
    }
}

/// Whether a layer has one component, and another one can take it up.
fn is_spare(layers: &[(LayerKind, usize)], layer: usize) -> bool {
    let (kind, size) = layers[layer];
    if size > 1 || layers.len() == 1 {
        return false;
    }
    // At the top a rotation does nothing.
    let kind = if layer == 0 && kind == LayerKind::Orthogonal { LayerKind::Scale } else { kind };
    if kind == LayerKind::Scale {
        return true;
    }
    let takes = |other: &usize| group(layers, *other).covers(kind);
    let stops = |other: &usize| *other == 0 || layers[*other].0 != LayerKind::Scale;
    (layer + 1..layers.len()).find(stops).is_some_and(|other| takes(&other))
        || (0..layer).rev().find(stops).is_some_and(|other| takes(&other))
}

/// The dimension of the transforms of a kind.
fn transforms(kind: LayerKind, d: usize) -> usize {
    match kind {
        LayerKind::Full => d * d,
        LayerKind::Diagonal => d,
        LayerKind::Scale => 1,
        LayerKind::Orthogonal => 1 + packed(d) - d,
    }
}

/// The dimension of their products with what they are transposed.
fn covariances(kind: LayerKind, d: usize) -> usize {
    match kind {
        LayerKind::Full => packed(d),
        LayerKind::Diagonal => d,
        LayerKind::Scale | LayerKind::Orthogonal => 1,
    }
}

/// The dimension of the transforms that are of two kinds.
fn common(one: LayerKind, other: LayerKind, d: usize) -> usize {
    if one.covers(other) {
        transforms(other, d)
    } else if other.covers(one) {
        transforms(one, d)
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use mereo_core::math::{Array, eigen};
    use mereo_core::{Context, Random};
    use rand_distr::{Distribution, StandardNormal};

    use super::super::affine::Affine;
    use super::super::layers::{Layer, Layers};
    use super::*;

    const KINDS: [LayerKind; 4] =
        [LayerKind::Full, LayerKind::Scale, LayerKind::Diagonal, LayerKind::Orthogonal];

    fn rotation(d: usize, random: &mut Random) -> Vec<f64> {
        let mut own: Vec<Vec<f64>> = Vec::new();
        while own.len() < d {
            let mut row: Vec<f64> = (0..d).map(|_| StandardNormal.sample(random)).collect();
            for other in &own {
                let along: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                row.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
            }
            let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            own.push(row.iter().map(|v| v / length).collect());
        }
        own.concat()
    }

    /// A random component of a kind, and the directions in which its transform can move.
    fn component(kind: LayerKind, d: usize, random: &mut Random) -> (Affine, Vec<Vec<f64>>) {
        let mut normal = || -> f64 { StandardNormal.sample(random) };
        let offset = (0..d).map(|_| normal()).collect();
        let unit = |i: usize, j: usize| -> Vec<f64> {
            (0..d * d).map(|at| f64::from(at == i * d + j)).collect()
        };
        let one: Vec<f64> = (0..d * d).map(|at| f64::from(at / d == at % d)).collect();
        let scale = 1.0 + 0.3 * normal();
        let (matrix, moves): (Vec<f64>, Vec<Vec<f64>>) = match kind {
            LayerKind::Full => (
                one.iter().map(|v| v + 0.4 * normal()).collect(),
                (0..d * d).map(|at| unit(at / d, at % d)).collect(),
            ),
            LayerKind::Scale => (one.iter().map(|v| v * scale).collect(), vec![one]),
            LayerKind::Diagonal => (
                one.iter().map(|v| v * (1.0 + 0.3 * normal())).collect(),
                (0..d).map(|i| unit(i, i)).collect(),
            ),
            LayerKind::Orthogonal => {
                let own: Vec<f64> = rotation(d, random).iter().map(|v| scale * v).collect();
                let mut moves = vec![own.clone()];
                for i in 0..d {
                    for j in 0..i {
                        // Rows i and j turn into one another.
                        let mut turn = vec![0.0; d * d];
                        for k in 0..d {
                            turn[i * d + k] = own[j * d + k];
                            turn[j * d + k] = -own[i * d + k];
                        }
                        moves.push(turn);
                    }
                }
                (own, moves)
            }
        };
        (Affine { matrix: Array::new([d, d], matrix), offset }, moves)
    }

    /// The rank of the derivatives of all paths' means and covariances.
    fn rank(kinds: &[(LayerKind, usize)], d: usize, seed: u64) -> usize {
        let mut random = Context::new(seed).random("layers", [0, 0]);
        let mut moves = Vec::new();
        let mut layers = Vec::new();
        for (l, &(kind, size)) in kinds.iter().enumerate() {
            let mut layer = Layer::zeros(kind, size, d);
            for c in 0..size {
                let (map, own) = component(kind, d, &mut random);
                layer.set(c, &map);
                moves.extend(own.into_iter().map(|own| (l, c, Some(own), 0)));
                moves.extend((0..d).map(|i| (l, c, None, i)));
            }
            layers.push(layer);
        }
        let paths = kinds.iter().map(|k| k.1).product::<usize>();
        let layers = Layers { columns: d, layers, path_weight: vec![1.0 / paths as f64; paths] };
        let step = 1e-5;
        let derivatives: Vec<Vec<f64>> = moves
            .iter()
            .map(|(l, c, own, i)| {
                let at = |by: f64| {
                    let mut moved = layers.clone();
                    match own {
                        Some(own) => {
                            let matrix = &mut moved.layers[*l].transform[c * d * d..];
                            matrix.iter_mut().zip(own).for_each(|(m, v)| *m += by * v);
                        }
                        None => moved.layers[*l].bias[c * d + i] += by,
                    }
                    let (mean, covariance) = moved.collapse();
                    [mean, covariance].concat()
                };
                let (up, down) = (at(step), at(-step));
                up.iter().zip(&down).map(|(u, v)| (u - v) / (2.0 * step)).collect()
            })
            .collect();
        let n = derivatives.len();
        let gram: Vec<f64> = (0..n * n)
            .map(|at| {
                let (a, b) = (&derivatives[at / n], &derivatives[at % n]);
                a.iter().zip(b).map(|(a, b)| a * b).sum()
            })
            .collect();
        let values = eigen(&gram, n).unwrap().values;
        values.iter().filter(|v| **v > 1e-11 * values[0]).count()
    }

    /// All layers of these kinds, this many at most, with one or two components.
    fn all(kinds: &[LayerKind], most: u32) -> Vec<Vec<(LayerKind, usize)>> {
        let choices = 2 * kinds.len();
        let nth = |number: usize, layers: u32| {
            let choice = |layer: u32| number / choices.pow(layer) % choices;
            let of = |choice: usize| (kinds[choice / 2], 1 + choice % 2);
            (0..layers).map(|layer| of(choice(layer))).collect()
        };
        (1..=most)
            .flat_map(|layers| (0..choices.pow(layers)).map(move |i| nth(i, layers)))
            .collect()
    }

    fn free(layers: &[(LayerKind, usize)], d: usize) -> usize {
        let paths: usize = layers.iter().map(|layer| layer.1).product();
        free_numbers(layers, d, false) - (paths - 1)
    }

    #[test]
    fn full_layers_and_scales_have_as_many_free_numbers_as_dimensions() {
        for d in 1..=3 {
            for layers in all(&[LayerKind::Full, LayerKind::Scale], 3) {
                assert_eq!(free(&layers, d), rank(&layers, d, 1), "{layers:?} of {d} columns");
            }
        }
        let wide = [(LayerKind::Full, 3), (LayerKind::Full, 2), (LayerKind::Full, 2)];
        assert_eq!(free(&wide, 4), rank(&wide, 4, 1));
    }

    #[test]
    fn layers_of_any_kind_have_no_more_dimensions_than_free_numbers() {
        let (mut tried, mut above) = (0, 0);
        for layers in all(&KINDS, 3) {
            let (free, rank) = (free(&layers, 2), rank(&layers, 2, 1));
            assert!(free >= rank, "{layers:?}: {free}, {rank} dimensions");
            tried += 1;
            above += usize::from(free > rank);
        }
        assert!(above * 50 < tried, "{above} of {tried}");
    }
}
