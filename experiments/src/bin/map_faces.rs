//! Forsyth, figures 10.13 to 10.15 on the Olivetti faces: how fast eigenvalues fall, the mean and the
//! first sixteen components, and a face from ever more of them.
//!
//! `cargo xtask experiments map_faces`. The book's faces are other ones, so there are no numbers to
//! compare.

use mereo_core::{Cells, Context, Plan, Result, Silent};
use mereo_experiments::plot::draw_curves;
use mereo_experiments::{draw_each, olivetti};
use mereo_linear::{PcaParams, pca};

fn main() -> Result<()> {
    let Some(table) = olivetti()? else { return Ok(()) };
    let Some(picture) = table.about().picture else { return Ok(()) };
    let columns = table.columns();
    let count = 399;
    let context = Context::new(0).with_threads(0)?;
    let (model, _) =
        pca::fit(&PcaParams::new(count), &table, &Plan::default(), &context, &mut Silent)?;
    let values = model.explained_variance();
    let total: f64 = values.iter().sum();
    println!("Forsyth 10.13 to 10.15: {} faces of {columns} pixels\n", table.rows());
    println!("{:>10} {:>14} {:>12}", "components", "eigenvalue", "explained");
    for k in [1, 2, 5, 10, 20, 50, 100, 200] {
        let share = 100.0 * values[..k].iter().sum::<f64>() / total;
        println!("{k:>10} {:>14.4} {share:>11.1}%", values[k - 1]);
    }
    let curve = |most: usize| {
        let points = values.iter().take(most).enumerate().map(|(k, v)| (k as f64 + 1.0, *v));
        ("eigenvalues".to_owned(), points.collect::<Vec<_>>())
    };
    let axes = ("component", "variance");
    draw_curves("faces-eigenvalues", "Eigenvalues of the Olivetti faces", axes, &[curve(count)])?;
    draw_curves("faces-eigenvalues-first", "The first of them", axes, &[curve(50)])?;
    let mut shown = model.mean().to_vec();
    shown.extend_from_slice(&model.component()[..16 * columns]);
    draw_each("faces-mean-and-components", &shown, picture, 6)?;
    // One face from growing numbers of components.
    let Cells::Dense(cells) = table.cells() else { return Ok(()) };
    let face: Vec<f64> = cells.row(137).iter().map(|&v| f64::from(v)).collect();
    let mut made = model.mean().to_vec();
    let (mut all, mut next) = (face.clone(), 0);
    println!("\n{:>10} {:>22}", "components", "error of the face");
    for k in [0, 1, 5, 10, 20, 50, 100, 200, count] {
        while next < k {
            let component = &model.component()[next * columns..(next + 1) * columns];
            let share: f64 =
                component.iter().zip(&face).zip(model.mean()).map(|((c, x), m)| c * (x - m)).sum();
            made.iter_mut().zip(component).for_each(|(y, c)| *y += share * c);
            next += 1;
        }
        let error: f64 = made.iter().zip(&face).map(|(a, b)| (a - b) * (a - b)).sum();
        println!("{k:>10} {:>22.4}", (error / columns as f64).sqrt());
        all.extend(made.iter().map(|v| v.clamp(0.0, 1.0)));
    }
    draw_each("faces-from-components", &all, picture, 5)
}
