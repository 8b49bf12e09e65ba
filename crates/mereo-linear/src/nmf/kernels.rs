//! The loops under a pass, over codes `[N, R]` (component by component) and components `[N, D]`.

use mereo_core::Real;

/// The smallest reconstruction that anything is divided by, cells being about 1.
pub(super) const TINY: f64 = 1e-20;

/// Replaces reconstructions x̂ by `x/x̂` (0 in missing cells), and returns for each row, if asked,
/// the divergence `Σ x log(x/x̂) - x + x̂` over observed cells.
pub(super) fn ratios<T: Real>(
    cells: &[T],
    columns: usize,
    rebuilt: &mut [T],
    mut losses: Option<&mut Vec<f64>>,
) {
    let tiny = T::from_f64(TINY);
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            let rows = cells.chunks_exact(columns).zip(rebuilt.chunks_exact_mut(columns));
            for (cells, rebuilt) in rows {
                if let Some(losses) = losses.as_deref_mut() {
                    // Lanes, since a single sum cannot be vectorised.
                    let mut sums = [T::ZERO; 16];
                    let mut add = |lane: usize, x: T, r: &mut T| {
                        let safe = if *r > tiny { *r } else { tiny };
                        let ratio = x / safe;
                        let known = if ratio > tiny { ratio } else { tiny };
                        let loss = x * known.quick_ln() - x + *r;
                        let seen = x >= T::ZERO;
                        sums[lane] += if seen { loss } else { T::ZERO };
                        *r = if seen { ratio } else { T::ZERO };
                    };
                    let (head, tail) = cells.split_at(columns - columns % 16);
                    let (head_out, tail_out) = rebuilt.split_at_mut(head.len());
                    for (xs, rs) in head.chunks_exact(16).zip(head_out.chunks_exact_mut(16)) {
                        for lane in 0..16 {
                            add(lane, xs[lane], &mut rs[lane]);
                        }
                    }
                    for (lane, (x, r)) in tail.iter().zip(tail_out).enumerate() {
                        add(lane, *x, r);
                    }
                    losses.push(sums.iter().map(|s| s.to_f64()).sum());
                } else {
                    for (r, &x) in rebuilt.iter_mut().zip(cells) {
                        let safe = if *r > tiny { *r } else { tiny };
                        *r = if x >= T::ZERO { x / safe } else { T::ZERO };
                    }
                }
            }
        },
    );
}

/// `codes ← codes · above / below`, with `below` one number a component or one a code.
pub(super) fn multiply<T: Real>(codes: &mut [T], above: &[T], below: &[T], rows: usize) {
    let tiny = T::from_f64(TINY);
    let each = below.len() == codes.len();
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            let components = codes.chunks_exact_mut(rows).zip(above.chunks_exact(rows)).enumerate();
            for (j, (codes, above)) in components {
                if each {
                    let below = &below[j * rows..(j + 1) * rows];
                    for ((h, &a), &b) in codes.iter_mut().zip(above).zip(below) {
                        *h *= a / if b > tiny { b } else { tiny };
                    }
                } else {
                    let inverse = T::ONE / if below[j] > tiny { below[j] } else { tiny };
                    for (h, &a) in codes.iter_mut().zip(above) {
                        *h *= a * inverse;
                    }
                }
            }
        },
    );
}

/// One round of coordinates in turn for the codes of all rows: `targets [N, R]` is WX, `gram [N, N]`
/// is `WWᵀ`. A component of nothing keeps its code.
pub(super) fn descend<T: Real>(
    codes: &mut [T],
    targets: &[T],
    gram: &[T],
    n: usize,
    rows: usize,
    step: &mut Vec<T>,
) {
    step.resize(rows, T::ZERO);
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for j in 0..n {
                let curvature = gram[j * n + j];
                if !(curvature > T::from_f64(TINY)) {
                    continue;
                }
                step.copy_from_slice(&targets[j * rows..(j + 1) * rows]);
                for (k, other) in codes.chunks_exact(rows).enumerate() {
                    let g = gram[j * n + k];
                    if g != T::ZERO {
                        for (s, &h) in step.iter_mut().zip(other) {
                            *s -= g * h;
                        }
                    }
                }
                let inverse = T::ONE / curvature;
                for (h, &s) in codes[j * rows..(j + 1) * rows].iter_mut().zip(&*step) {
                    let next = *h + s * inverse;
                    *h = if next > T::ZERO { next } else { T::ZERO };
                }
            }
        },
    );
}

/// The same for one row with holes: `own [N, n]` are the components in its observed columns and
/// `left [n]` what its code does not explain there, which is kept up to date.
pub(super) fn descend_row<T: Real>(code: &mut [T], own: &[T], left: &mut [T]) {
    let n = left.len();
    if n == 0 {
        return;
    }
    for (h, w) in code.iter_mut().zip(own.chunks_exact(n)) {
        let (mut along, mut square) = ([T::ZERO; 8], [T::ZERO; 8]);
        let mut add = |lane: usize, w: T, e: T| {
            along[lane] += w * e;
            square[lane] += w * w;
        };
        for (ws, es) in w.chunks(8).zip(left.chunks(8)) {
            for (lane, (w, e)) in ws.iter().zip(es).enumerate() {
                add(lane, *w, *e);
            }
        }
        let (along, square): (T, T) = (along.into_iter().sum(), square.into_iter().sum());
        if !(square > T::from_f64(TINY)) {
            continue;
        }
        let next = *h + along / square;
        let next = if next > T::ZERO { next } else { T::ZERO };
        let step = next - *h;
        *h = next;
        if step != T::ZERO {
            for (e, &w) in left.iter_mut().zip(w) {
                *e -= step * w;
            }
        }
    }
}
