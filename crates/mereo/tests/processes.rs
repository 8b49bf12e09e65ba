//! Rows that other processes read: what they answer travels as bytes, and the model that is learned
//! is, byte for byte, the one that is learned here.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use mereo::data::ReadOptions;
use mereo::{
    About, Absent, AnyTable, Context, Error, Fit, Fitted, Lane, Options, ParamType, Plan, Remote,
    Request, Result, Source, Table,
};
use mereo_testing::{blobs, table, with_holes};
use serde_json::json;

/// The variable that tells a child where its question is.
const QUESTION: &str = "MEREO_TEST_QUESTION";

/// A question for a child: what, of which shards, of which file.
#[derive(serde::Serialize, serde::Deserialize)]
struct Question {
    request: Request,
    shards: Range<usize>,
    data: PathBuf,
}

/// Not a test of its own: the process that answers, started by the tests below.
#[test]
fn child() {
    let Some(path) = std::env::var_os(QUESTION) else { return };
    let question: Question = mereo::unpack(&std::fs::read(&path).unwrap()).unwrap();
    let AnyTable::F64(rows) = mereo::data::read(&question.data, &ReadOptions::default()).unwrap()
    else {
        panic!("the test writes double precision")
    };
    let answers = mereo::answers();
    let answer = answers.iter().find(|answer| answer.name() == question.request.task).unwrap();
    let bytes = answer.answer(&question.request, &rows, question.shards, &Context::new(0)).unwrap();
    std::fs::write(Path::new(&path).with_extension("answer"), bytes).unwrap();
}

/// Rows in a file that only children read.
struct Elsewhere<'a> {
    shape: &'a Table<f64>,
    data: PathBuf,
    folder: &'a Path,
    asked: AtomicUsize,
}

impl Source<f64> for Elsewhere<'_> {
    fn rows(&self) -> usize {
        self.shape.rows()
    }

    fn columns(&self) -> usize {
        self.shape.columns()
    }

    fn lane(&self, _: Range<usize>) -> Result<Box<dyn Lane<f64> + '_>> {
        Err(Error::option("data", "these rows are read by other processes"))
    }

    fn about(&self) -> &About {
        self.shape.about()
    }

    fn absent(&self) -> Option<Absent> {
        None
    }

    fn remote(&self) -> Option<&dyn Remote> {
        Some(self)
    }
}

impl Remote for Elsewhere<'_> {
    fn ask(&self, request: &Request, runs: &[Range<usize>]) -> Result<Vec<Vec<u8>>> {
        // The last run is asked first: the order in which answers come must not matter.
        let mut answers = Vec::new();
        for shards in runs.iter().rev() {
            let number = self.asked.fetch_add(1, Ordering::Relaxed);
            let path = self.folder.join(format!("question-{number}"));
            let question = Question {
                request: request.clone(),
                shards: shards.clone(),
                data: self.data.clone(),
            };
            std::fs::write(&path, mereo::pack(&question)?).unwrap();
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "child"])
                .env(QUESTION, &path)
                .output()
                .unwrap();
            assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
            answers.push(std::fs::read(path.with_extension("answer")).unwrap());
        }
        answers.reverse();
        Ok(answers)
    }
}

/// A small model of a kind.
fn fit_of(name: &str) -> Fit {
    let kind = mereo::model(name).unwrap();
    let mut options = Options::new();
    for info in kind.params() {
        match (&info.kind, &info.default) {
            (ParamType::Count, None) => options.insert(info.name.into(), json!(2)),
            (ParamType::Counts, None) => options.insert(info.name.into(), json!([2, 2])),
            (ParamType::CountOr(_), Some(auto)) if auto == "auto" => {
                options.insert(info.name.into(), json!(2))
            }
            _ if info.name == "scouts" => options.insert(info.name.into(), json!(2)),
            _ => None,
        };
    }
    let plan =
        Plan { restarts: 1, passes: 2, tolerance: 0.0, checkpoints: None, ..Plan::default() };
    Fit::named(name, &options).unwrap().plan(plan).seed(3)
}

fn bytes(fitted: &Fitted) -> Vec<u8> {
    fitted.model.to_file(fitted.manifest.clone()).to_bytes().unwrap()
}

/// Learns every model from rows here and from rows elsewhere.
fn compare(cells: &[f64]) {
    let rows = table::<f64>(3, cells);
    assert!(rows.shards() > 2, "the data has too few shards to show anything");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("rows.npy");
    mereo::data::write::write_table(&data, &AnyTable::from(rows.clone())).unwrap();
    let elsewhere =
        Elsewhere { shape: &rows, data, folder: folder.path(), asked: AtomicUsize::new(0) };
    let mut learned = 0;
    for kind in mereo::models() {
        match fit_of(kind.name).run(&elsewhere) {
            Ok(fitted) => {
                let here = fit_of(kind.name).run(&rows).unwrap();
                assert!(bytes(&fitted) == bytes(&here), "{}: another file", kind.name);
                learned += 1;
            }
            Err(Error::Option { problem, .. }) => {
                assert!(problem.contains("remembers rows"), "{}: {problem}", kind.name);
            }
            Err(other) => panic!("{}: {other}", kind.name),
        }
    }
    assert!(learned + 2 >= mereo::models().len(), "only {learned} models were learned elsewhere");
    assert!(elsewhere.asked.load(Ordering::Relaxed) > 50);
}

#[test]
fn a_fit_by_child_processes_is_the_fit_of_one_process() {
    let least = 40.0;
    compare(&blobs(2500, 3, 3, 1).iter().map(|x| x + least).collect::<Vec<_>>());
}

#[test]
fn so_it_is_with_holes() {
    let cells: Vec<f64> = blobs(2500, 3, 3, 1).iter().map(|x| x + 40.0).collect();
    compare(&with_holes(cells, 2));
}
