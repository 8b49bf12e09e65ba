//! The layers, and the paths through them.

use serde::{Deserialize, Serialize};

use super::LayerKind;
use super::affine::Affine;
use mereo_core::math::{Array, product_nt};

/// One layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Layer {
    pub(super) kind: LayerKind,
    /// `[N, D, D]`.
    pub(super) transform: Array<3>,
    /// `[N, D]`.
    pub(super) bias: Array<2>,
}

impl Layer {
    /// Components that change nothing yet: all transforms are 0.
    pub(super) fn zeros(kind: LayerKind, size: usize, d: usize) -> Self {
        Self { kind, transform: Array::zeros([size, d, d]), bias: Array::zeros([size, d]) }
    }

    pub(super) fn size(&self) -> usize {
        self.bias.shape()[0]
    }

    /// `z ↦ A z + b`.
    pub(super) fn map(&self, component: usize) -> Affine {
        let [_, d, _] = self.transform.shape();
        Affine {
            matrix: Array::new([d, d], self.transform.at([component]).to_vec()),
            offset: self.bias.row(component).to_vec(),
        }
    }

    pub(super) fn set(&mut self, component: usize, map: &Affine) {
        self.transform.at_mut([component]).copy_from_slice(&map.matrix);
        self.bias.row_mut(component).copy_from_slice(&map.offset);
    }
}

/// All layers, the top one first, and how likely paths are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Layers {
    pub(super) columns: usize,
    pub(super) layers: Vec<Layer>,
    /// `[N_1, …, N_k]`.
    pub(super) path_weight: Vec<f64>,
}

impl Layers {
    pub(super) fn sizes(&self) -> Vec<usize> {
        self.layers.iter().map(Layer::size).collect()
    }

    /// The maps of all paths through the layers `from..to` (the top one first), in the order of their
    /// numbers, the last layer's component fastest: for `down` from top to data, else back. Nothing
    /// if a transform has no inverse.
    fn maps(&self, range: std::ops::Range<usize>, down: bool) -> Option<Vec<Affine>> {
        let d = self.columns;
        let identity = Affine { matrix: Array::identity(d), offset: vec![0.0; d] };
        let mut maps = vec![identity];
        for layer in &self.layers[range] {
            let own = (0..layer.size())
                .map(|c| if down { Some(layer.map(c)) } else { layer.map(c).inverse() })
                .collect::<Option<Vec<_>>>()?;
            let longer = maps.iter().flat_map(|above| {
                own.iter().map(move |own| if down { own.after(above) } else { above.after(own) })
            });
            maps = longer.collect();
        }
        Some(maps)
    }

    /// From `[z;1]` above the layers to data below them.
    pub(super) fn down(&self, range: std::ops::Range<usize>) -> Vec<Affine> {
        self.maps(range, true).unwrap_or_default()
    }

    /// From below the layers to above them.
    pub(super) fn up(&self, range: std::ops::Range<usize>) -> Option<Vec<Affine>> {
        self.maps(range, false)
    }

    /// `[P, D]` and `[P, D, D]`: means and covariances of all paths.
    pub(super) fn collapse(&self) -> (Vec<f64>, Vec<f64>) {
        let d = self.columns;
        let maps = self.down(0..self.layers.len());
        let mean = maps.iter().flat_map(|map| map.offset.iter().copied()).collect();
        let mut covariance = vec![0.0; maps.len() * d * d];
        let pieces = covariance.chunks_exact_mut(d * d).zip(&maps);
        mereo_core::in_parallel(pieces, |(out, map)| {
            product_nt(out, map.matrix.view(), map.matrix.view(), false);
        });
        (mean, covariance)
    }

    /// As [`collapse`](Self::collapse), but paths that differ only in layers of scales, the last ones, share
    /// a covariance, and `[P]` says by what each path's is larger.
    pub(super) fn shared(&self) -> (Vec<f64>, Vec<f64>, Option<Vec<f64>>) {
        let d = self.columns;
        let scales = self.layers.iter().rev().take_while(|layer| layer.kind == LayerKind::Scale);
        let last = self.layers.len() - scales.count();
        let (mean, covariance) = self.collapse();
        if last == 0 || last == self.layers.len() {
            return (mean, covariance, None);
        }
        // Each group of paths has the covariance of its first, whose scale counts as 1.
        let lower = self.down(last..self.layers.len());
        let first = lower[0].matrix[0];
        let each: Vec<f64> = lower.iter().map(|map| (map.matrix[0] / first).powi(2)).collect();
        if each.iter().any(|scale| !scale.is_normal()) {
            return (mean, covariance, None);
        }
        let groups = covariance.chunks_exact(d * d).step_by(lower.len());
        let covariance: Vec<f64> = groups.flatten().copied().collect();
        let paths = self.path_weight.len() / lower.len();
        (mean, covariance, Some(each.repeat(paths)))
    }

    /// For a layer: numbers of paths above and below it.
    pub(super) fn around(&self, layer: usize) -> (usize, usize) {
        let sizes = self.sizes();
        (sizes[..layer].iter().product(), sizes[layer + 1..].iter().product())
    }

    /// What the weight of each path would be if it were a product of one for each layer: those of
    /// their components.
    pub(super) fn independent(&self) -> Vec<f64> {
        let each: Vec<(Vec<f64>, usize)> =
            (0..self.layers.len()).map(|layer| (self.usage(layer), self.around(layer).1)).collect();
        let of = |path: usize| {
            each.iter().map(|(usage, below)| usage[path / below % usage.len()]).product()
        };
        (0..self.path_weight.len()).map(of).collect()
    }

    /// Whether it is such a product.
    pub(super) fn are_independent(&self) -> bool {
        let apart = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6;
        self.path_weight.iter().zip(&self.independent()).all(apart)
    }

    /// How common each component of a layer is.
    pub(super) fn usage(&self, layer: usize) -> Vec<f64> {
        usage(&self.path_weight, self.around(layer).1, self.layers[layer].size())
    }
}

/// The weight of all paths through each of `size` components, with `below` paths below each.
pub(super) fn usage(path_weight: &[f64], below: usize, size: usize) -> Vec<f64> {
    let mut usage = vec![0.0; size];
    for (path, weight) in path_weight.iter().enumerate() {
        usage[path / below % size] += weight;
    }
    usage
}
