//! What every method asks of a field: a graph, numbers at its nodes and tables at its edges.
//!
//! A field gives the joint state `x` of its variables the *score*
//!
//! `s(x) = Σ_i β_i[x_i] + Σ_(ij) θ_ij[x_i, x_j]`, each edge counted once,
//!
//! and the probability `exp(s(x)) / Z`. Its *energy* is `-s(x)`. Methods meet an edge from one of its
//! ends, by a [`Link`]; four ways of using the edge's table are all that they need, and a field whose
//! tables have a form (Potts, truncated differences) does each in time proportional to the labels.

/// A step from a variable to a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The edge that is gone along.
    pub edge: usize,
    /// The variable at its other end.
    pub to: usize,
    /// Whether the step starts at the edge's first end.
    pub forward: bool,
}

impl Link {
    /// The same edge, seen from the other end.
    #[must_use]
    pub fn reversed(self, from: usize) -> Self {
        Self { to: from, forward: !self.forward, ..self }
    }
}

/// A field of discrete variables that are coupled in pairs.
pub trait Pairwise: Sync {
    /// Number of variables.
    fn variables(&self) -> usize;

    /// Number of labels of a variable.
    fn labels(&self, variable: usize) -> usize;

    /// The log potential of each label of a variable.
    fn unary(&self, variable: usize) -> &[f64];

    /// The neighbours of a variable, always in the same order.
    fn links(&self, variable: usize) -> impl Iterator<Item = Link> + '_;

    /// An edge's log potential: `label` at the variable that the link starts from, `other` at the
    /// neighbour.
    fn pair(&self, link: Link, label: usize, other: usize) -> f64;

    /// `out[m] += θ(m, other)`: what a neighbour of known label tells.
    fn add_given(&self, link: Link, other: usize, out: &mut [f64]) {
        for (m, out) in out.iter_mut().enumerate() {
            *out += self.pair(link, m, other);
        }
    }

    /// `out[m] += Σ_n θ(m, n) q(n)`: what a neighbour tells on the average.
    fn add_expected(&self, link: Link, q: &[f64], out: &mut [f64]) {
        for (m, out) in out.iter_mut().enumerate() {
            *out += q.iter().enumerate().map(|(n, q)| q * self.pair(link, m, n)).sum::<f64>();
        }
    }

    /// `out[m] = max_n (h(n) + θ(m, n))`: the message of the best label.
    fn max_message(&self, link: Link, h: &[f64], out: &mut [f64]) {
        for (m, out) in out.iter_mut().enumerate() {
            let each = h.iter().enumerate().map(|(n, h)| h + self.pair(link, m, n));
            *out = each.fold(f64::NEG_INFINITY, f64::max);
        }
    }

    /// `out[m] = log Σ_n exp(h(n) + θ(m, n))`: the message of all labels.
    fn sum_message(&self, link: Link, h: &[f64], out: &mut [f64]) {
        for (m, out) in out.iter_mut().enumerate() {
            let each = || h.iter().enumerate().map(|(n, h)| h + self.pair(link, m, n));
            let most = each().fold(f64::NEG_INFINITY, f64::max);
            *out = most + each().map(|v| (v - most).exp()).sum::<f64>().ln();
        }
    }

    /// Calls `visit(first end, link to the second)` for each edge.
    fn for_each_edge(&self, mut visit: impl FnMut(usize, Link))
    where
        Self: Sized,
    {
        for i in 0..self.variables() {
            self.links(i).filter(|link| link.forward).for_each(|link| visit(i, link));
        }
    }

    /// The score of a joint state: the log of its probability up to `log Z`.
    fn score(&self, labels: &[usize]) -> f64
    where
        Self: Sized,
    {
        let mut score: f64 = labels.iter().enumerate().map(|(i, &m)| self.unary(i)[m]).sum();
        self.for_each_edge(|i, link| score += self.pair(link, labels[i], labels[link.to]));
        score
    }

    /// The energy of a joint state, `-score`.
    fn energy(&self, labels: &[usize]) -> f64
    where
        Self: Sized,
    {
        // Not -0 where nothing counts.
        0.0 - self.score(labels)
    }
}

/// The position of the largest number, the first of equals.
pub(crate) fn largest(values: &[f64]) -> usize {
    let mut best = 0;
    for (m, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = m;
        }
    }
    best
}
