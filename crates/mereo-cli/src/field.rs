//! `mereo field`: asks a random field from a JSON file.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use mereo_core::Result;
use mereo_field::{FieldFile, Method, Pairwise, ask};
use mereo_report::{FieldPage, MethodTried, write_field};
use serde_json::json;

use crate::args::Threads;
use crate::interrupt;
use crate::output::{self, Voice};

/// Ask a random field: marginals, most probable state, log Z
///
/// The field is a JSON file: variables with their numbers of labels, log potentials of each label
/// ("unary"), edges with a table of log potentials each, and labels that were observed. Every answer says
/// whether it is exact, a bound or an estimate.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The file, all numbers log potentials:
  {\"variables\": [{\"labels\": 2}, {\"labels\": 3, \"name\": \"weather\"}],
   \"unary\": [[0, 1], [0, 0.5, -1]],
   \"edges\": [{\"a\": 0, \"b\": 1, \"table\": [[1, 0, 0], [0, 1, 0]]}],
   \"observed\": {\"0\": 1}}

Methods: exact (all states, or message passing without loops), mean-field (a lower bound on log Z), bp
(loopy belief propagation), gibbs (draws), and for the most probable state alone icm, cut (two labels that
rather agree: exact), expansion, trws (with a bound), linear and integer (programs, for small fields).

Examples:
  mereo field machine.json
  mereo field machine.json --method trws --json
  mereo field machine.json --compare --report field.html")]
pub(crate) struct FieldArgs {
    /// The field
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// How it is asked: exact, mean-field, bp, gibbs, icm, cut, expansion, trws, linear or integer
    /// [default: exact if it is small or has no loops, else mean-field]
    #[arg(long, value_name = "METHOD", value_parser = str::parse::<Method>)]
    method: Option<Method>,

    /// Ask by every method that can, side by side
    #[arg(long)]
    compare: bool,

    /// Also write a page about it
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// The seed of draws
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    threads: Threads,

    /// Print one JSON object: marginals, map, energy, `log_z`, `free_energy`, kind ...
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &FieldArgs, voice: Voice) -> Result<ExitCode> {
    if let Some(report) = &args.report {
        output::check_output(report, &[&args.file])?;
    }
    let context = args.threads.context(args.seed)?;
    interrupt::watch(context.stop(), voice);
    let FieldFile { field, observed, names } = FieldFile::read(&args.file)?;
    let given = field.given(&observed)?;
    let method = args.method.unwrap_or_else(|| Method::of(&given.field));
    let start = Instant::now();
    let answer = ask(&field, &observed, method, &context)?;
    let seconds = start.elapsed().as_secs_f64();
    let tried = |name: Method, answer: &mereo_field::Answer, seconds: f64| MethodTried {
        name: name.name().to_owned(),
        energy: answer.energy,
        bound: answer.bound,
        kind: answer.kind.to_string(),
        seconds,
        note: answer.log_z.map_or_else(String::new, |z| format!("log Z {z:.6}")),
    };
    let mut methods = vec![tried(method, &answer, seconds)];
    if args.compare {
        for other in Method::ALL.into_iter().filter(|other| *other != method) {
            let start = Instant::now();
            // A method that cannot be used on this field is no error here.
            if let Ok(answer) = ask(&field, &observed, other, &context) {
                methods.push(tried(other, &answer, start.elapsed().as_secs_f64()));
            }
        }
    }
    let called = |i: usize| names[i].clone().unwrap_or_else(|| format!("variable {i}"));
    let listed: Vec<(String, Vec<f64>)> = answer.marginals.as_ref().map_or_else(Vec::new, |m| {
        (0..field.variables()).map(|i| (called(i), m.of(i).to_vec())).collect()
    });
    if let Some(report) = &args.report {
        let watched =
            if method == Method::Bp { "largest change of a message" } else { "free energy" };
        let page = FieldPage {
            title: "A random field",
            about: format!(
                "{} variables and {} edges, asked by {}: the answer is {}.",
                field.variables(),
                field.edges(),
                method.name(),
                answer.kind
            ),
            trace: (watched, &answer.trace),
            methods: &methods,
            marginals: listed.clone(),
            ..FieldPage::default()
        };
        write_field(&page, report)?;
        voice.say(format_args!("a page about it is in {}", report.display()));
    }
    if args.json {
        let mut told = json!({
            "method": method,
            "kind": answer.kind,
            "marginals": answer.marginals.as_ref().map(|_| listed.iter().map(|m| &m.1).collect::<Vec<_>>()),
            "map": answer.map,
            "energy": answer.energy,
            "bound": answer.bound,
            "log_z": answer.log_z,
            "free_energy": answer.free_energy,
            "converged": answer.converged,
            "sweeps": answer.trace.len(),
            "seconds": seconds,
        });
        if args.compare {
            told["compare"] = methods
                .iter()
                .map(|m| json!({"method": m.name, "kind": m.kind, "energy": m.energy, "bound": m.bound, "seconds": m.seconds}))
                .collect();
        }
        output::print_json(&told)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{}: {}\n", method.name(), answer.kind);
    // Writing to a string does not fail.
    if let Some(z) = answer.log_z {
        let word = match answer.kind {
            mereo_field::Kind::Bound => " at least",
            mereo_field::Kind::Estimate => " about",
            mereo_field::Kind::Exact => "",
        };
        let _ = writeln!(text, "log Z{word} {z:.6}, free energy {:.6}", -z);
    }
    let _ = writeln!(text, "energy of the state {:.6}", answer.energy);
    if let Some(bound) = answer.bound {
        let _ = writeln!(text, "no state is below   {bound:.6}");
    }
    if !answer.converged {
        text += "it did not come to rest: take the numbers with care\n";
    }
    for i in 0..field.variables() {
        let seen = if observed[i].is_some() { " (observed)" } else { "" };
        let _ = write!(text, "{:<16} label {}{seen}", called(i), answer.map[i]);
        if let Some((_, marginal)) = listed.get(i).filter(|_| observed[i].is_none()) {
            let shares: Vec<String> = marginal.iter().map(|p| format!("{p:.4}")).collect();
            let _ = write!(text, "  {}", shares.join(" "));
        }
        text.push('\n');
    }
    for tried in methods.iter().skip(1) {
        let _ = writeln!(
            text,
            "{:<12} {:<9} energy {:.6}  {}  {:.3} s",
            tried.name, tried.kind, tried.energy, tried.note, tried.seconds
        );
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
