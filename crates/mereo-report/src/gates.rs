//! How columns share themselves among parts: sizes, owners and doubts.

use mereo_core::PartsView;

/// What the gates say of parts and of columns.
pub(crate) struct Gates {
    /// Columns of each part, counted by their gates.
    pub(crate) size: Vec<f64>,
    /// Entropy of the gate of each column, in bits.
    pub(crate) column_entropy: Vec<f64>,
    /// The part that each column belongs to most.
    pub(crate) owner: Vec<u32>,
    /// How strongly each column belongs to that part.
    pub(crate) strongest: Vec<f64>,
    /// Mean entropy over all columns, in bits.
    pub(crate) mean_entropy: f64,
    /// Share of the columns of which one part holds at least nine tenths.
    pub(crate) clear: f64,
}

impl Gates {
    pub(crate) fn of(parts: &PartsView<'_>) -> Self {
        let mut size = vec![0.0; parts.parts];
        let mut column_entropy = Vec::with_capacity(parts.columns);
        let mut owner = Vec::with_capacity(parts.columns);
        let mut strongest = Vec::with_capacity(parts.columns);
        let mut clear = 0usize;
        for d in 0..parts.columns {
            let gate = parts.gate_of(d);
            let entropy: f64 = gate.iter().map(|&g| bits(share(g))).sum();
            let mut best = 0;
            for (k, &g) in gate.iter().enumerate() {
                size[k] += share(g);
                if share(g) > share(gate[best]) {
                    best = k;
                }
            }
            clear += usize::from(share(gate[best]) >= 0.9);
            column_entropy.push(entropy);
            owner.push(best as u32);
            strongest.push(share(gate[best]));
        }
        let columns = parts.columns.max(1) as f64;
        let mean_entropy = worth_telling(column_entropy.iter().sum::<f64>() / columns);
        let clear = clear as f64 / columns;
        Self { size, column_entropy, owner, strongest, mean_entropy, clear }
    }

    /// How sure the gate of a column is: 1 if one part has it, 0 if all share it alike.
    pub(crate) fn certainty(&self, column: usize) -> f64 {
        let most = (self.size.len() as f64).log2();
        let entropy = self.column_entropy.get(column).copied().unwrap_or(most);
        if most > 0.0 { (1.0 - entropy / most).clamp(0.0, 1.0) } else { 1.0 }
    }
}

/// A gate as a number between 0 and 1, whatever was handed over.
pub(crate) fn share(gate: f64) -> f64 {
    if gate.is_finite() { gate.clamp(0.0, 1.0) } else { 0.0 }
}

fn bits(share: f64) -> f64 {
    if share > 0.0 { -share * share.log2() } else { 0.0 }
}

/// The `n` indices below `len` with the largest keys, largest first; ties by index.
pub(crate) fn top(len: usize, n: usize, key: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut all: Vec<(f64, usize)> = (0..len).map(|i| (key(i), i)).collect();
    let order = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if n == 0 {
        return Vec::new();
    }
    if n < all.len() {
        all.select_nth_unstable_by(n, order);
        all.truncate(n);
    }
    all.sort_unstable_by(order);
    all.into_iter().map(|(_, i)| i).collect()
}

/// A gate is kept above 0 by a hair, which is no doubt worth telling.
fn worth_telling(entropy: f64) -> f64 {
    if entropy < 1e-6 { 0.0 } else { entropy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_summed_and_doubted() {
        let parts = PartsView {
            columns: 2,
            parts: 2,
            states: 1,
            appearance: mereo_core::Appearance::States,
            gate: &[1.0, 0.0, 0.5, 0.5],
            state_prior: &[1.0, 1.0],
            mean: &[0.0; 4],
        };
        let gates = Gates::of(&parts);
        assert_eq!(gates.size, [1.5, 0.5]);
        assert_eq!(gates.column_entropy, [0.0, 1.0]);
        assert_eq!(gates.owner, [0, 0]);
        assert_eq!((gates.clear, gates.mean_entropy), (0.5, 0.5));
        assert_eq!((gates.certainty(0), gates.certainty(1), gates.certainty(9)), (1.0, 0.0, 0.0));
    }

    #[test]
    fn the_largest_come_first() {
        let values = [3.0, 9.0, 1.0, 9.0];
        assert_eq!(top(4, 3, |i| values[i]), [1, 3, 0]);
        assert_eq!(top(4, 9, |i| values[i]).len(), 4);
        assert!(top(4, 0, |i| values[i]).is_empty());
    }
}
