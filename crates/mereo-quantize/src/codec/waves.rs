//! Square blocks as sums of waves: the orthonormal cosine transform.
//!
//! Wave u along one side of N pixels is `c_u cos(π u (2x + 1) / 2N)`, `c_0 = √(1/N)` and
//! `c_u = √(2/N)`; across a block it is the product of two. Waves are orthonormal, so that rounding
//! them costs the same squared error as rounding pixels would. But features of pictures are smooth: most
//! of what they are is in few slow waves, and what is rounded to 0 takes hardly any bits.
//!
//! Plain arithmetic of one order only, cosines included, so that every machine reads what any wrote.

use std::f64::consts::FRAC_PI_2;

/// The waves of blocks of one side.
pub(super) struct Waves {
    side: usize,
    /// `[u, x]`.
    wave: Vec<f64>,
    half: Vec<f64>,
}

impl Waves {
    pub(super) fn new(side: usize) -> Self {
        let mut wave = Vec::with_capacity(side * side);
        for u in 0..side {
            let scale = (if u == 0 { 1.0 } else { 2.0 } / side as f64).sqrt();
            wave.extend((0..side).map(|x| scale * cosine(u * (2 * x + 1), side)));
        }
        Self { side, wave, half: vec![0.0; side * side] }
    }

    /// Pixels to waves.
    pub(super) fn take_apart(&mut self, block: &mut [f64]) {
        let side = self.side;
        let turned = |i: usize| self.wave[i % side * side + i / side];
        let table: Vec<f64> = (0..side * side).map(turned).collect();
        self.turn(block, &table);
    }

    /// Waves to pixels.
    pub(super) fn put_together(&mut self, block: &mut [f64]) {
        let table = std::mem::take(&mut self.wave);
        self.turn(block, &table);
        self.wave = table;
    }

    /// `block = tableᵀ block table`; what is 0 takes no time.
    fn turn(&mut self, block: &mut [f64], table: &[f64]) {
        let side = self.side;
        for (row, half) in block.chunks_exact(side).zip(self.half.chunks_exact_mut(side)) {
            half.fill(0.0);
            for (&amount, wave) in row.iter().zip(table.chunks_exact(side)) {
                add(half, amount, wave);
            }
        }
        block.fill(0.0);
        for (half, wave) in self.half.chunks_exact(side).zip(table.chunks_exact(side)) {
            if half.iter().any(|&h| h != 0.0) {
                for (row, &amount) in block.chunks_exact_mut(side).zip(wave) {
                    add(row, amount, half);
                }
            }
        }
    }
}

fn add(to: &mut [f64], amount: f64, wave: &[f64]) {
    if amount != 0.0 {
        to.iter_mut().zip(wave).for_each(|(t, w)| *t += amount * w);
    }
}

/// `cos(π k / 2n)`, by its series.
fn cosine(k: usize, n: usize) -> f64 {
    let around = k % (4 * n);
    let half = around.min(4 * n - around);
    let (quarter, sign) = if half > n { (2 * n - half, -1.0) } else { (half, 1.0) };
    let angle = FRAC_PI_2 * quarter as f64 / n as f64;
    let (mut term, mut sum) = (1.0, 1.0);
    for i in 1..13 {
        term *= -angle * angle / f64::from((2 * i - 1) * (2 * i));
        sum += term;
    }
    sign * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_the_cosine() {
        for n in [1usize, 3, 8, 256] {
            for k in 0..9 * n {
                let off = cosine(k, n) - (FRAC_PI_2 * k as f64 / n as f64).cos();
                assert!(off.abs() < 1e-14, "{k} {n} {off}");
            }
        }
    }

    #[test]
    fn waves_are_orthonormal_and_lead_back_to_pixels() {
        for side in [1usize, 2, 5, 8, 16] {
            let block: Vec<f64> = (0..side * side).map(|i| (i * 37 % 19) as f64 - 9.0).collect();
            let mut turned = block.clone();
            let mut waves = Waves::new(side);
            waves.take_apart(&mut turned);
            let square = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>();
            assert!((square(&turned) - square(&block)).abs() < 1e-9 * square(&block).max(1.0));
            let mean = block.iter().sum::<f64>() / side as f64;
            assert!((turned[0] - mean).abs() < 1e-9, "{side}");
            waves.put_together(&mut turned);
            assert!(turned.iter().zip(&block).all(|(a, b)| (a - b).abs() < 1e-9), "{side}");
        }
    }
}
