//! Whole pages of every kind of model, and of models that mean harm.

use mereo_core::{
    Dense, Manifest, PartsView, Picture, Restart, ScoreKind, Scores, Status, Training,
};

use crate::{Compared, ShownRows, Subject, render};

const HOSTILE: &str = "\"><script>alert(1)</script>";

struct Model {
    columns: usize,
    parts: usize,
    states: usize,
    gate: Vec<f64>,
    prior: Vec<f64>,
    mean: Vec<f64>,
}

impl Model {
    fn new(columns: usize, parts: usize, states: usize) -> Self {
        let gate = |d: usize, k: usize| match parts {
            1 => 1.0,
            _ if d % parts == k => 0.8,
            _ => 0.2 / (parts - 1) as f64,
        };
        Self {
            columns,
            parts,
            states,
            gate: (0..columns * parts).map(|i| gate(i / parts, i % parts)).collect(),
            prior: vec![1.0 / states as f64; parts * states],
            mean: (0..parts * states * columns).map(|i| (i % 11) as f64 / 10.0).collect(),
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
}

fn training() -> Training {
    let restart = |last: f64, status| Restart {
        start: "random".to_owned(),
        status,
        settled_from: 0,
        bounds: vec![-900.0, -300.0, last],
    };
    Training {
        rows: 10,
        weight: None,
        fingerprint: None,
        seed: 1,
        bound: -123.0,
        log_likelihood: None,
        likelihood_unknown: false,
        held_out: Vec::new(),
        passes: 2,
        status: Status::Converged,
        best: 1,
        restarts: vec![restart(-150.0, Status::PassLimit), restart(-123.0, Status::Converged)],
    }
}

/// The page without its pictures, style and script, whose letters mean nothing.
fn words(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some(at) = rest.find("data:image/png;base64,") {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        rest = &tail[tail.find(['"', ')']).unwrap_or(tail.len())..];
    }
    out.push_str(rest);
    for (open, close) in [("<style>", "</style>"), ("<script>", "</script>")] {
        if let (Some(a), Some(b)) = (out.find(open), out.find(close)) {
            out.replace_range(a + open.len()..b, "");
        }
    }
    out
}

fn assert_sound(page: &str) {
    let words = words(page);
    for bad in ["NaN", "nan", "inf%", "inf\"", "Infinity", "-0.0%"] {
        assert!(!words.contains(bad), "{bad} in the page");
    }
    assert_eq!(page.matches("<script").count(), 1, "only our own script");
    assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
    assert!(!words.contains("http:") && !words.contains("https:"), "the page names no address");
    assert!(!page.contains("src=\"\""));
}

#[test]
fn a_page_about_pictures_has_every_section() {
    let model = Model::new(64, 4, 6);
    let manifest = Manifest {
        picture: Some(Picture { height: 8, width: 8, channels: 1 }),
        training: Some(training()),
        params: serde_json::json!({"parts": 4}),
        ..Manifest::new("mcvq")
    };
    let mut cells = vec![0.5; 128];
    cells[3] = f64::NAN;
    let original = Dense::new(2, 64, cells).unwrap();
    let made = Dense::new(2, 64, vec![0.4; 128]).unwrap();
    let scores = Scores::new(ScoreKind::Exact, vec![0.5, 1.5, 1.0], &[1.0; 3]);
    let page = render(&Subject {
        parts: Some(model.view()),
        rows: Some(ShownRows {
            reconstruction: Some(&made),
            responsible: Some(&[1; 128]),
            states: Some(&[0; 8]),
            ..ShownRows::new(&original)
        }),
        samples: Some(&made),
        scores: Some(&scores),
        ..Subject::new("Pictures", &manifest)
    });
    assert_sound(&page);
    for id in ["parts", "learning", "rows", "samples", "scores", "use"] {
        assert!(page.contains(&format!("<section id=\"{id}\"")), "{id}");
    }
    assert!(
        page.contains(
            "4 parts, each with 6 appearances, learned from 10 pictures of 8\u{a0}×\u{a0}8"
        )
    );
    assert!(page.contains("bound of −12.3 nats a row after 2 passes and converged"));
    // One map, and of each part a mask and six states; three pictures a row; two samples.
    assert_eq!(page.matches("<img").count(), 1 + 4 * 7 + 2 * 3 + 2);
    assert_eq!(page.matches("<img").count(), page.matches(" alt=\"").count());
    assert!(page.contains("RMS error 0.1<"));
    assert!(page.contains("63 of 64 observed"));
}

#[test]
fn a_page_about_a_table_names_columns_and_filled_cells() {
    let model = Model::new(3, 2, 2);
    let manifest = Manifest {
        columns: Some(["height", "weight", "age"].map(str::to_owned).to_vec()),
        ..Manifest::new("mcvq")
    };
    let original = Dense::new(1, 3, vec![1.0, f64::NAN, 3.0]).unwrap();
    let made = Dense::new(1, 3, vec![1.0, 2.5, 3.0]).unwrap();
    let subject = Subject {
        parts: Some(model.view()),
        column_mean: Some(&[0.5; 3]),
        column_deviation: Some(&[0.1; 3]),
        rows: Some(ShownRows {
            reconstruction: Some(&made),
            numbers: Some(&[41]),
            ..ShownRows::new(&original)
        }),
        samples: Some(&made),
        ..Subject::new("A table", &manifest)
    };
    let page = render(&subject);
    assert_sound(&page);
    assert!(!page.contains("<img"));
    assert!(page.contains("weight"));
    assert!(page.contains(" sd<"));
    assert!(page.contains("Row 41"));
    assert!(page.contains(">missing<") && page.contains("<em>2.5</em>"));
    assert!(page.contains("does not record how it was learned"));
    assert!(!page.contains("<section id=\"learning\""));
    let plain = render(&Subject { column_deviation: None, ..subject });
    assert!(!plain.contains(" sd<"));
}

#[test]
fn a_mixture_speaks_of_components_and_a_codebook_of_states() {
    let model = Model::new(4, 1, 3);
    for (kind, word) in [("gaussian-mixture", "components"), ("vq", "states")] {
        let manifest = Manifest::new(kind);
        let page = render(&Subject { parts: Some(model.view()), ..Subject::new("m", &manifest) });
        assert_sound(&page);
        assert!(page.contains(&format!("3 {word}, each a typical row, for rows of 4 columns.")));
        assert!(page.contains(&format!("The {word}</h2>")));
        assert!(!page.contains("Share of the columns"));
    }
}

#[test]
fn a_model_that_says_nothing_still_has_a_page() {
    let manifest = Manifest::new("mystery");
    let page = render(&Subject::new("", &manifest));
    assert_sound(&page);
    assert!(page.contains("A model of kind “mystery”."));
    assert!(page.contains("mereo score model.safetensors DATA"));
}

#[test]
fn hostile_texts_are_only_texts() {
    let model = Model::new(20, 2, 2);
    let cells = Dense::new(1, 20, vec![1.0; 20]).unwrap();
    let labels = mereo_core::Labels::from_texts([Some(HOSTILE)]);
    let mut history = training();
    history.restarts[0].start = HOSTILE.to_owned();
    let manifest = Manifest {
        columns: Some(vec![HOSTILE.to_owned(); 20]),
        params: serde_json::json!({HOSTILE: {"x": HOSTILE}}),
        steps: serde_json::json!([HOSTILE]),
        training: Some(history),
        fingerprint: Some(HOSTILE.to_owned()),
        ..Manifest::new(HOSTILE)
    };
    let page = render(&Subject {
        parts: Some(model.view()),
        rows: Some(ShownRows {
            reconstruction: Some(&cells),
            labels: Some(&labels),
            ..ShownRows::new(&cells)
        }),
        samples: Some(&cells),
        model_file: Some(HOSTILE),
        data_file: Some(HOSTILE),
        ..Subject::new(HOSTILE, &manifest)
    });
    assert_sound(&page);
    assert!(!page.contains("<script>alert"));
    assert!(page.contains("&lt;script&gt;"));
}

#[test]
fn numbers_that_are_none_are_shown_as_dashes() {
    let mut model = Model::new(9, 3, 4);
    let wild = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308, 0.0];
    for (i, value) in model.mean.iter_mut().enumerate() {
        *value = wild[i % wild.len()];
    }
    for (i, value) in model.gate.iter_mut().enumerate() {
        *value = wild[i * 5 % wild.len()];
    }
    model.prior.fill(f64::NAN);
    let cells = Dense::new(2, 9, vec![f64::NAN; 18]).unwrap();
    let mut history = training();
    history.bound = f64::NAN;
    history.rows = 0;
    history.best = 7;
    history.restarts[0].bounds = vec![f64::NAN, 1e308, -1e308, f64::INFINITY];
    history.restarts[1].bounds.clear();
    let scores = Scores::new(ScoreKind::Bound, vec![f64::NAN, 1.0, -1e308, 1e308], &[1.0; 4]);
    for picture in [None, Some(Picture { height: 3, width: 3, channels: 1 })] {
        let manifest =
            Manifest { picture, training: Some(history.clone()), ..Manifest::new("mcvq") };
        let page = render(&Subject {
            parts: Some(model.view()),
            column_mean: Some(&[f64::NAN; 9]),
            column_deviation: Some(&[0.0; 9]),
            rows: Some(ShownRows {
                reconstruction: Some(&cells),
                responsible: Some(&[u32::MAX; 18]),
                states: Some(&[u32::MAX; 6]),
                scores: Some(&[f64::NAN; 2]),
                numbers: Some(&[usize::MAX; 2]),
                ..ShownRows::new(&cells)
            }),
            samples: Some(&cells),
            scores: Some(&scores),
            ..Subject::new("Wild", &manifest)
        });
        assert_sound(&page);
    }
}

#[test]
fn models_beside_one_another_are_drawn_and_listed() {
    let model = |name, kind, parameters, shown| Compared {
        name,
        kind,
        parameters,
        learned: Some(-2.0),
        aic: Some(10.0),
        bic: Some(f64::NAN),
        shown,
    };
    let compared = [
        model("four", "gmm", Some(1234), Some(-1.5)),
        model("<i>", "deep-gmm", Some(99), Some(f64::NEG_INFINITY)),
        model("eight", "gmm", Some(20), Some(-1.75)),
        model("parts", "mcvq", None, None),
    ];
    let manifest = Manifest::new("gmm");
    let page = render(&Subject { compared: &compared, ..Subject::new("Beside", &manifest) });
    assert_sound(&page);
    // Two models have both numbers; the fewer parameters are drawn to the left.
    assert_eq!(page.matches("class=\"dot\"").count(), 2);
    assert!(page.contains("1,234") && page.contains("&lt;i&gt;") && page.contains("this one"));
    let one = render(&Subject { compared: &compared[..1], ..Subject::new("Alone", &manifest) });
    assert_sound(&one);
    assert!(one.contains("Likelihood against parameters") && !one.contains("class=\"dot\""));
    let many = vec![compared[0]; 200];
    let many = render(&Subject { compared: &many, ..Subject::new("Many", &manifest) });
    assert!(many.contains("150 more are not shown"));
}

#[test]
fn shapes_that_do_not_fit_are_left_out() {
    let model = Model::new(4, 2, 2);
    let broken = PartsView { states: 3, ..model.view() };
    let manifest = Manifest {
        picture: Some(Picture { height: 7, width: 7, channels: 1 }),
        columns: Some(vec!["only one".to_owned()]),
        ..Manifest::new("mcvq")
    };
    let page = render(&Subject { parts: Some(broken), ..Subject::new("x", &manifest) });
    assert!(!page.contains("<section id=\"parts\""));
    let three = Dense::new(1, 3, vec![0.0; 3]).unwrap();
    let page = render(&Subject {
        parts: Some(model.view()),
        column_mean: Some(&[0.0]),
        column_deviation: Some(&[0.0]),
        rows: Some(ShownRows::new(&three)),
        samples: Some(&three),
        ..Subject::new("x", &manifest)
    });
    assert_sound(&page);
    assert!(page.contains("<section id=\"parts\"") && !page.contains("<section id=\"rows\""));
    let short = ShownRows {
        reconstruction: Some(&three),
        responsible: Some(&[0]),
        states: Some(&[0]),
        scores: Some(&[]),
        numbers: Some(&[]),
        ..ShownRows::new(&three)
    };
    assert_sound(&render(&Subject { rows: Some(short), ..Subject::new("x", &manifest) }));
}

#[test]
fn too_much_is_capped_and_said() {
    let model = Model::new(600, 60, 100);
    let mut history = training();
    history.restarts = vec![history.restarts[1].clone(); 500];
    history.restarts[499].bounds = (0..20_000).map(|i| -1.0 / f64::from(i + 1)).collect();
    let manifest = Manifest { training: Some(history), ..Manifest::new("mcvq") };
    let cells = Dense::new(100, 600, vec![1.0; 60_000]).unwrap();
    let subject = Subject {
        parts: Some(model.view()),
        rows: Some(ShownRows { reconstruction: Some(&cells), ..ShownRows::new(&cells) }),
        samples: Some(&cells),
        ..Subject::new("Much", &manifest)
    };
    let page = render(&subject);
    assert_sound(&page);
    assert!(page.contains("24 largest of 60 parts"));
    assert!(page.contains("rarer states are not shown"));
    assert!(page.contains("best 30 of 500 restarts"));
    assert!(page.contains("88 more rows were given"));
    assert!(page.contains("590 more columns"));
    assert!(page.contains("588 more are left out"));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    let manifest = Manifest {
        picture: Some(Picture { height: 20, width: 30, channels: 1 }),
        ..manifest.clone()
    };
    let page = render(&Subject { manifest: &manifest, ..subject });
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains("52 more were drawn"));
}

#[test]
fn the_same_subject_gives_the_same_page() {
    let model = Model::new(30, 3, 20);
    let manifest = Manifest::new("mcvq");
    let subject = Subject { parts: Some(model.view()), ..Subject::new("Twice", &manifest) };
    assert_eq!(render(&subject), render(&subject));
}

#[test]
fn a_page_lets_browsers_run_its_own_script_and_nothing_else() {
    use base64::Engine as _;
    use sha2::{Digest, Sha256};
    let manifest = Manifest::new("vq");
    let page = render(&Subject::new(HOSTILE, &manifest));
    let policy = page.find("Content-Security-Policy").unwrap();
    assert!(policy < page.find("<style").unwrap() && policy < page.find("<script").unwrap());
    let script = page.split("<script>").nth(1).unwrap().split("</script>").next().unwrap();
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
    assert!(page.contains(&format!("default-src 'none'; script-src 'sha256-{hash}';")));
    assert_eq!(page.matches("<script").count(), 1);
}
