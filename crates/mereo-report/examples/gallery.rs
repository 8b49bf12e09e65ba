//! Draws reports of made-up subjects of every kind into a folder, to be looked at and to be
//! tested in a browser: `cargo run -p mereo-report --example gallery -- target/gallery`.

use std::path::{Path, PathBuf};

use mereo_core::{
    Dense, Labels, Manifest, PartsView, Picture, Restart, Result, ScoreKind, Scores, Status,
    Training,
};
use mereo_report::{ShownRows, Subject, write};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A made-up model, and a way to draw rows from it.
struct World {
    parts: usize,
    states: usize,
    columns: usize,
    gate: Vec<f64>,
    prior: Vec<f64>,
    mean: Vec<f64>,
    random: ChaCha8Rng,
}

/// Rows drawn from a world, with what made them.
struct Drawn {
    original: Dense<f64>,
    made: Dense<f64>,
    responsible: Vec<u32>,
    states: Vec<u32>,
}

impl World {
    fn new(parts: usize, states: usize, columns: usize) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut prior = Vec::new();
        for _ in 0..parts {
            let raw: Vec<f64> = (0..states).map(|_| random.random::<f64>() + 0.15).collect();
            let sum: f64 = raw.iter().sum();
            prior.extend(raw.iter().map(|p| p / sum));
        }
        Self {
            parts,
            states,
            columns,
            gate: vec![0.0; columns * parts],
            prior,
            mean: vec![0.0; parts * states * columns],
            random,
        }
    }

    fn view(&self) -> PartsView<'_> {
        PartsView {
            columns: self.columns,
            parts: self.parts,
            states: self.states,
            appearance: mereo_core::Appearance::States,
            gate: &self.gate,
            state_prior: &self.prior,
            mean: &self.mean,
        }
    }

    fn pick(&mut self, weights: &[f64]) -> usize {
        let mut left = self.random.random::<f64>() * weights.iter().sum::<f64>();
        weights
            .iter()
            .position(|w| {
                left -= w;
                left <= 0.0
            })
            .unwrap_or(0)
    }

    fn noise(&mut self) -> f64 {
        (0..4).map(|_| self.random.random::<f64>() - 0.5).sum::<f64>()
    }

    fn draw(&mut self, rows: usize, noise: f64, missing: f64) -> Result<Drawn> {
        let (k, j, d) = (self.parts, self.states, self.columns);
        let (mut original, mut made) = (Vec::new(), Vec::new());
        let (mut responsible, mut states) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let chosen: Vec<usize> = (0..k)
                .map(|part| {
                    let prior = self.prior[part * j..(part + 1) * j].to_vec();
                    self.pick(&prior)
                })
                .collect();
            states.extend(chosen.iter().map(|&s| s as u32));
            for column in 0..d {
                let gate = self.gate[column * k..(column + 1) * k].to_vec();
                let value = |part: usize| self.mean[(part * j + chosen[part]) * d + column];
                made.push((0..k).map(|part| gate[part] * value(part)).sum::<f64>());
                let part = self.pick(&gate);
                let value = self.mean[(part * j + chosen[part]) * d + column];
                let cell = value + noise * self.noise();
                let lost = self.random.random::<f64>() < missing;
                original.push(if lost { f64::NAN } else { cell });
                responsible.push(part as u32);
            }
        }
        Ok(Drawn {
            original: Dense::new(rows, d, original)?,
            made: Dense::new(rows, d, made)?,
            responsible,
            states,
        })
    }
}

fn training(rows: usize, restarts: usize, level: f64) -> Training {
    let restart = |r: usize| {
        let passes = 34 + r * 9 % 31;
        let end = level - 0.35 * ((r * 7 + 5) % 6) as f64;
        let bounds = (0..=passes)
            .map(|p| {
                let p = p as f64;
                let rise = 9.0 * (-p / 6.0).exp() + 60.0 * (-p / 0.7).exp();
                let shelf = 1.6 / (1.0 + ((p - 14.0 - r as f64) / 1.5).exp());
                (end - rise - shelf) * rows as f64
            })
            .collect::<Vec<_>>();
        let status = if r == 2 { Status::PassLimit } else { Status::Converged };
        Restart {
            start: ["spread", "random", "rows"][r % 3].to_owned(),
            status,
            settled_from: 0,
            bounds,
        }
    };
    let restarts: Vec<Restart> = (0..restarts).map(restart).collect();
    let last = |r: &Restart| r.bounds.last().copied().unwrap_or(f64::MIN);
    let best = (0..restarts.len())
        .max_by(|&a, &b| last(&restarts[a]).total_cmp(&last(&restarts[b])))
        .unwrap_or(0);
    Training {
        weight: None,
        fingerprint: None,
        rows,
        seed: 42,
        bound: last(&restarts[best]),
        log_likelihood: None,
        likelihood_unknown: false,
        held_out: Vec::new(),
        passes: restarts[best].bounds.len() - 1,
        status: restarts[best].status,
        best,
        restarts,
    }
}

fn scores(random: &mut ChaCha8Rng, rows: usize, level: f64) -> Scores {
    let rows: Vec<f64> = (0..rows)
        .map(|_| {
            let bell: f64 = (0..6).map(|_| random.random::<f64>() - 0.5).sum();
            let tail = if random.random::<f64>() < 0.004 { 60.0 } else { 0.0 };
            level + 3.0 * bell - 2.0 * random.random::<f64>().powi(3) * 4.0 - tail
        })
        .collect();
    let ones = vec![1.0; rows.len()];
    Scores::new(ScoreKind::Bound, rows, &ones)
}

/// Faces, drawn with a few formulas: eyes, nose, mouth, and all around them.
fn faces(folder: &Path) -> Result<PathBuf> {
    const SIDE: usize = 32;
    let mut world = World::new(4, 6, SIDE * SIDE);
    let blob = |x: f64, y: f64, cx: f64, cy: f64, w: f64, h: f64| {
        (-(((x - cx) / w).powi(2) + ((y - cy) / h).powi(2))).exp()
    };
    for d in 0..world.columns {
        let (x, y) = ((d % SIDE) as f64 + 0.5, (d / SIDE) as f64 + 0.5);
        let eyes =
            1.3 * (-((y - 11.0) / 4.2).abs().powi(6) - ((x - 16.0) / 11.5).abs().powi(8)).exp();
        let nose = 1.5 * blob(x, y, 16.0, 17.5, 3.4, 3.9);
        let mouth =
            1.5 * (-((y - 24.0) / 3.6).abs().powi(4) - ((x - 16.0) / 8.5).abs().powi(4)).exp();
        let raw = [0.12, eyes, nose, mouth].map(|w: f64| w.powi(3) + 1e-4);
        let sum: f64 = raw.iter().sum();
        for k in 0..4 {
            world.gate[d * 4 + k] = raw[k] / sum;
        }
        for j in 0..6 {
            let s = j as f64;
            let skin = 0.62 + 0.05 * s;
            let face = (-(((x - 16.0) / (11.5 + 0.4 * s)).powi(2) + ((y - 17.0) / 14.0).powi(2))
                .powi(6))
            .exp();
            let hair = if y < 7.0 + 0.8 * (s - 2.0) + 0.04 * (x - 16.0).powi(2) * (s - 2.0) / 3.0 {
                0.14 + 0.05 * s
            } else {
                0.32
            };
            let open = 1.0 + 0.35 * s;
            let eye = blob(x, y, 10.5, 11.0, 2.6, open) + blob(x, y, 21.5, 11.0, 2.6, open);
            let look = (s - 2.5) * 0.5;
            let pupil = blob(x, y, 10.5 + look, 11.0, 1.1, open.min(1.4))
                + blob(x, y, 21.5 + look, 11.0, 1.1, open.min(1.4));
            let brow = blob(x, y, 10.5, 7.6 - 0.2 * s, 3.4, 0.7)
                + blob(x, y, 21.5, 7.6 - 0.2 * s, 3.4, 0.7);
            let bridge = blob(x, y, 16.0 + 0.3 * (s - 2.5), 17.0, 0.8 + 0.25 * s, 3.4);
            let curve = 24.0 - (s - 2.5) * 0.035 * ((x - 16.0).powi(2) - 18.0);
            let lip = (-((y - curve) / (0.8 + 0.12 * s)).powi(2)).exp()
                * (-((x - 16.0) / 6.0).powi(6)).exp();
            let values = [
                hair * (1.0 - face) + skin * face,
                0.68 + 0.3 * eye - 0.95 * pupil - 0.45 * brow,
                0.7 + 0.22 * bridge - 0.18 * blob(x, y, 16.0, 20.5, 2.4, 0.9),
                0.68 - 0.5 * lip,
            ];
            for (k, value) in values.into_iter().enumerate() {
                world.mean[(k * 6 + j) * world.columns + d] = value.clamp(0.0, 1.0);
            }
        }
    }
    let drawn = world.draw(12, 0.06, 0.0)?;
    // Somebody held a hand before some of the pictures.
    let hidden = drawn.original.values().iter().enumerate().map(|(i, &v)| {
        let (row, d) = (i / world.columns, i % world.columns);
        let (x, y) = (d % SIDE, d / SIDE);
        if row % 4 == 1 && y > 15 && x > 13 { f64::NAN } else { v }
    });
    let original = Dense::new(12, world.columns, hidden.collect())?;
    let samples = world.draw(24, 0.0, 0.0)?.made;
    let labels =
        Labels::from_texts((0..12).map(|i| Some(if i % 3 == 0 { "calm" } else { "merry" })));
    let row_scores: Vec<f64> = (0..12).map(|i| 812.0 - 9.7 * f64::from(i % 5)).collect();
    let scores = scores(&mut world.random, 2000, 812.0);
    let manifest = Manifest {
        picture: Some(Picture { height: SIDE, width: SIDE, channels: 1 }),
        params: serde_json::json!({"parts": 4, "states": 6, "gate": "shared", "restarts": 5, "passes": 100, "tolerance": 1e-4, "variance_floor": 1e-3, "anneal": {"from": 4.0, "to": 1.0, "passes": 20}}),
        training: Some(training(2000, 5, 810.2)),
        fingerprint: Some("b3c1f09e77d2".to_owned()),
        ..Manifest::new("mcvq")
    };
    let subject = Subject {
        parts: Some(world.view()),
        rows: Some(ShownRows {
            reconstruction: Some(&drawn.made),
            responsible: Some(&drawn.responsible),
            states: Some(&drawn.states),
            labels: Some(&labels),
            scores: Some(&row_scores),
            ..ShownRows::new(&original)
        }),
        samples: Some(&samples),
        scores: Some(&scores),
        model_file: Some("faces.safetensors"),
        data_file: Some("faces.npy"),
        ..Subject::new("Faces", &manifest)
    };
    let path = folder.join("faces.html");
    write(&subject, &path).map(|()| path)
}

/// A table of named columns in different units, with gaps.
fn patients(folder: &Path) -> Result<PathBuf> {
    let columns = [
        ("age (years)", 52.0, 16.0, 0),
        ("body mass index", 26.0, 4.5, 1),
        ("waist (cm)", 92.0, 13.0, 1),
        ("systolic pressure (mmHg)", 128.0, 17.0, 0),
        ("diastolic pressure (mmHg)", 79.0, 10.0, 0),
        ("fasting glucose (mg/dl)", 101.0, 24.0, 1),
        ("HbA1c (%)", 5.7, 0.9, 1),
        ("triglycerides (mg/dl)", 141.0, 80.0, 1),
        ("HDL (mg/dl)", 53.0, 14.0, 1),
        ("LDL (mg/dl)", 121.0, 33.0, 0),
        ("hours of sleep", 6.9, 1.2, 2),
        ("steps a day", 7100.0, 3300.0, 2),
        ("resting pulse (1/min)", 68.0, 10.0, 2),
        ("cigarettes a day", 2.4, 6.0, 2),
    ];
    let mut world = World::new(3, 4, columns.len());
    for (d, &(_, mean, sd, part)) in columns.iter().enumerate() {
        for k in 0..3 {
            let doubt = if d == 8 || d == 12 { 0.3 } else { 0.03 };
            world.gate[d * 3 + k] = if k == part { 1.0 - 2.0 * doubt } else { doubt };
            for j in 0..4 {
                let away = world.noise() * 1.6;
                world.mean[(k * 4 + j) * columns.len() + d] = mean + sd * away;
            }
        }
    }
    let mut drawn = world.draw(6, 0.0, 0.2)?;
    let jitter = drawn
        .original
        .values()
        .iter()
        .enumerate()
        .map(|(i, &v)| v + 0.3 * columns[i % columns.len()].2 * world.noise());
    drawn.original = Dense::new(6, columns.len(), jitter.collect())?;
    let samples = world.draw(6, 0.0, 0.0)?.made;
    let scores = scores(&mut world.random, 1200, -41.0);
    let mean: Vec<f64> = columns.iter().map(|c| c.1).collect();
    let deviation: Vec<f64> = columns.iter().map(|c| c.2).collect();
    let numbers = [17, 203, 544, 871, 1022, 1187];
    let manifest = Manifest {
        columns: Some(columns.iter().map(|c| c.0.to_owned()).collect()),
        params: serde_json::json!({"parts": 3, "states": 4, "restarts": 3}),
        training: Some(training(1200, 3, -41.7)),
        ..Manifest::new("mcvq")
    };
    let subject = Subject {
        parts: Some(world.view()),
        column_mean: Some(&mean),
        column_deviation: Some(&deviation),
        rows: Some(ShownRows {
            reconstruction: Some(&drawn.made),
            responsible: Some(&drawn.responsible),
            states: Some(&drawn.states),
            numbers: Some(&numbers),
            ..ShownRows::new(&drawn.original)
        }),
        samples: Some(&samples),
        scores: Some(&scores),
        model_file: Some("patients.safetensors"),
        data_file: Some("patients 2025.csv"),
        ..Subject::new("A check-up of 1,200 patients", &manifest)
    };
    let path = folder.join("patients.html");
    write(&subject, &path).map(|()| path)
}

/// Ratings: many columns, most cells unknown.
fn ratings(folder: &Path) -> Result<PathBuf> {
    let first = [
        "The Last",
        "A Quiet",
        "Return to",
        "Midnight",
        "Seven",
        "The Glass",
        "Beyond",
        "My Little",
        "Dark",
        "Golden",
    ];
    let second = [
        "Harbour",
        "Summer",
        "Planet",
        "Detective",
        "Orchestra",
        "Winter",
        "Train",
        "Garden",
        "Empire",
        "Letters",
        "Robot",
        "Waltz",
    ];
    let names: Vec<String> = (0..120)
        .map(|d| {
            format!("{} {} ({})", first[d % 10], second[(d / 10 + d) % 12], 1960 + d * 37 % 60)
        })
        .collect();
    let mut world = World::new(5, 8, names.len());
    for d in 0..names.len() {
        let raw: Vec<f64> = (0..5)
            .map(|k| (if k == d * 13 % 5 { 3.0 } else { 0.0 } + 1.2 * world.noise()).exp())
            .collect();
        let sum: f64 = raw.iter().sum();
        for k in 0..5 {
            world.gate[d * 5 + k] = raw[k] / sum;
            for j in 0..8 {
                let liked = 3.4 + 1.1 * world.noise() + (j as f64 - 3.5) * 0.2;
                world.mean[(k * 8 + j) * names.len() + d] = liked.clamp(1.0, 5.0);
            }
        }
    }
    let drawn = world.draw(4, 0.0, 0.85)?;
    let rated = drawn.original.values().iter().map(|v| v.round()).collect();
    let original = Dense::new(4, names.len(), rated)?;
    let manifest = Manifest {
        columns: Some(names),
        absent: Some(mereo_core::Absent::Unobserved),
        training: Some(training(943, 1, -1.31)),
        params: serde_json::json!({"parts": 5, "states": 8}),
        ..Manifest::new("mcvq")
    };
    let subject = Subject {
        parts: Some(world.view()),
        rows: Some(ShownRows {
            reconstruction: Some(&drawn.made),
            states: Some(&drawn.states),
            ..ShownRows::new(&original)
        }),
        ..Subject::new("Films and the people who rate them", &manifest)
    };
    let path = folder.join("ratings.html");
    write(&subject, &path).map(|()| path)
}

/// A mixture: one part, so nothing but components. Twice: of rows, and of colour pictures.
fn mixtures(folder: &Path) -> Result<[PathBuf; 2]> {
    let names = ["sepal length", "sepal width", "petal length", "petal width"];
    let mut world = World::new(1, 3, 4);
    world.gate.fill(1.0);
    world.mean = vec![5.0, 3.4, 1.5, 0.2, 5.9, 2.8, 4.3, 1.3, 6.6, 3.0, 5.6, 2.0];
    let drawn = world.draw(3, 0.3, 0.0)?;
    let manifest = Manifest {
        columns: Some(names.map(str::to_owned).to_vec()),
        training: Some(training(150, 2, -1.9)),
        ..Manifest::new("gaussian-mixture")
    };
    let subject = Subject {
        parts: Some(world.view()),
        column_deviation: Some(&[0.83, 0.43, 1.76, 0.76]),
        rows: Some(ShownRows {
            reconstruction: Some(&drawn.made),
            states: Some(&drawn.states),
            ..ShownRows::new(&drawn.original)
        }),
        samples: Some(&drawn.made),
        ..Subject::new("Irises", &manifest)
    };
    let irises = folder.join("mixture.html");
    write(&subject, &irises)?;

    let mut world = World::new(1, 20, 12 * 16 * 3);
    world.gate.fill(1.0);
    for j in 0..20 {
        for d in 0..world.columns {
            let (x, y, c) = (d / 3 % 16, d / 48, d % 3);
            let wave = ((x * (j % 4 + 1)) as f64 * 0.3
                + (y * (j / 4 + 1)) as f64 * 0.25
                + c as f64 * (1.0 + j as f64 * 0.3))
                .sin();
            world.mean[j * 576 + d] = 0.5 + 0.5 * wave;
        }
    }
    let manifest = Manifest {
        picture: Some(Picture { height: 12, width: 16, channels: 3 }),
        training: Some(training(5000, 1, 90.0)),
        ..Manifest::new("vq")
    };
    let subject =
        Subject { parts: Some(world.view()), ..Subject::new("A codebook of patches", &manifest) };
    let patches = folder.join("codebook.html");
    write(&subject, &patches)?;
    Ok([irises, patches])
}

/// A model that somebody wrote by hand: no names, no training; and one that is all extremes.
fn odd(folder: &Path) -> Result<[PathBuf; 2]> {
    let manifest = Manifest::new("mcvq");
    let mean = [1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0];
    let parts = PartsView {
        columns: 4,
        parts: 2,
        states: 2,
        appearance: mereo_core::Appearance::States,
        gate: &[1.0, 0.0, 0.9, 0.1, 0.0, 1.0, 0.2, 0.8],
        state_prior: &[0.5, 0.5, 0.7, 0.3],
        mean: &mean,
    };
    let plain = folder.join("handwritten.html");
    write(&Subject { parts: Some(parts), ..Subject::new("Written by hand", &manifest) }, &plain)?;

    let (k, j, d) = (70, 90, 300);
    let wild = |i: usize| [f64::NAN, f64::INFINITY, 1e300, -1e300, 0.5, -3.25e-8, 12.0][i * 31 % 7];
    let gate: Vec<f64> =
        (0..d * k).map(|i| if i % k == i / k % k { 0.6 } else { 0.4 / 69.0 }).collect();
    let prior: Vec<f64> =
        (0..k * j).map(|i| if i % 13 == 0 { f64::NAN } else { 1.0 / 90.0 }).collect();
    let mean: Vec<f64> = (0..k * j * d).map(wild).collect();
    let names = (0..d).map(|i| match i % 4 {
        0 => "<script>alert(1)</script>".to_owned(),
        1 => "averyverylongnamewithoutanyspaces".repeat(9),
        2 => "\u{202e}\u{0}\"onmouseover='x'&amp;".to_owned(),
        _ => String::new(),
    });
    let rows = Dense::new(
        20,
        d,
        (0..20 * d).map(|i| if i % 3 == 0 { f64::NAN } else { 1e90 * (i as f64) }).collect(),
    )?;
    let mut history = training(0, 50, f64::NEG_INFINITY);
    history.restarts[3].bounds = vec![f64::NAN, 1e300, -1e300, 5.0];
    history.status = Status::Interrupted;
    let scored = vec![f64::NAN, f64::NEG_INFINITY, -1e200, 3.0, 3.0, 4.0, 4.5];
    let scores = Scores::new(ScoreKind::Estimate, scored, &[1.0; 7]);
    let manifest = Manifest {
        columns: Some(names.collect()),
        params: serde_json::json!({"</style><script>alert(2)</script>": ["\"", {"deep": "x".repeat(4000)}]}),
        training: Some(history),
        ..Manifest::new("<img src=x onerror=alert(3)>")
    };
    let subject = Subject {
        parts: Some(PartsView {
            columns: d,
            parts: k,
            states: j,
            appearance: mereo_core::Appearance::States,
            gate: &gate,
            state_prior: &prior,
            mean: &mean,
        }),
        rows: Some(ShownRows { reconstruction: Some(&rows), ..ShownRows::new(&rows) }),
        samples: Some(&rows),
        scores: Some(&scores),
        model_file: Some("a model's <file>.safetensors"),
        ..Subject::new(
            "Extremes: </title><script>alert(4)</script> & averyveryveryverylongwordindeeeeeeeeeeeeeeeeed",
            &manifest,
        )
    };
    let extremes = folder.join("extremes.html");
    write(&subject, &extremes)?;
    Ok([plain, extremes])
}

fn main() -> Result<()> {
    let folder =
        PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "target/gallery".to_owned()));
    std::fs::create_dir_all(&folder).map_err(|e| mereo_core::Error::io(&folder, e))?;
    let mut written = vec![faces(&folder)?, patients(&folder)?, ratings(&folder)?];
    written.extend(mixtures(&folder)?);
    written.extend(odd(&folder)?);
    for path in written {
        println!("{}", path.display());
    }
    Ok(())
}
