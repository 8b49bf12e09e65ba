//! Forsyth, section 10.5: the principal components of the body fat data.
//!
//! `cargo xtask experiments bodyfat`. The book's table has one column more (adiposity).

use mereo_core::{Context, Plan, Result, Silent};
use mereo_data::{ReadOptions, read};
use mereo_experiments::{shared, wide};
use mereo_linear::{PcaParams, pca};

fn main() -> Result<()> {
    let Some(path) = shared("tabular/bodyfat.csv") else { return Ok(()) };
    let any = read(&path, &ReadOptions::default())?;
    let table = wide(&any)?;
    let columns = table.columns();
    let context = Context::new(0);
    let (model, _) =
        pca::fit(&PcaParams::new(columns), &table, &Plan::default(), &context, &mut Silent)?;
    println!("Forsyth 10.5: {} rows of {columns} columns\n", table.rows());
    println!("{:<10} {:>9} {:>8} {:>8} {:>8}", "column", "mean", "1st", "2nd", "3rd");
    for d in 0..columns {
        let component = |i: usize| model.component()[i * columns + d];
        println!(
            "{:<10} {:>9.3} {:>8.3} {:>8.3} {:>8.3}",
            table.name(d),
            model.mean()[d],
            component(0),
            component(1),
            component(2)
        );
    }
    let values = model.explained_variance();
    let shown: Vec<String> = values.iter().map(|v| format!("{v:.2}")).collect();
    println!("\neigenvalues: {}", shown.join(" "));
    let (total, three) = (values.iter().sum::<f64>(), values[..3].iter().sum::<f64>());
    println!("\n{:<46} {:>8} {:>8}", "", "book", "ours");
    println!("{:<46} {:>8} {:>8.0}", "sum of the eigenvalues", 1404, total);
    println!("{:<46} {:>8} {:>8.0}", "sum of the first three", 1357, three);
    println!(
        "{:<46} {:>8} {:>8.1}",
        "root mean square error of three components",
        6.8,
        (total - three).sqrt()
    );
    let left = 100.0 * (total - three) / total;
    println!("{:<46} {:>7}% {:>7.1}%", "variance that three components do not explain", 3.4, left);
    Ok(())
}
