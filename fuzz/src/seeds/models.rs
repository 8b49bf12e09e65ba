//! Model files, checkpoints and steps.

use std::fmt::Write;

use mereo::map::{Distances, Journey, MapParams, Method};
use mereo::quantize::codec::picture::{CodecParams, Picture};
use mereo::quantize::codec::{Coded, Colour};
use mereo::quantize::{GvqParams, gvq};
use mereo::segment::{Colours, SegmentParams, Telling};
use mereo::{Fit, MapFit, Source};
use mereo_core::{Context, Dense, Manifest, Plan, Silent, Table};
use mereo_data::Pixels;
use mereo_data::steps::Steps;

use crate::mutate::{Random, mutate};
use crate::targets::learn_with_checkpoint;

/// A model before it is a file: what it says about itself, and its tensors.
struct Parts {
    manifest: String,
    tensors: Vec<(&'static str, String, Vec<u8>)>,
}

fn models() -> Vec<Parts> {
    let tensor = |name, shape: &[usize], values: &[f64]| {
        (name, format!("{shape:?}"), values.iter().flat_map(|v| v.to_le_bytes()).collect())
    };
    let training = r#""training":{"rows":4,"seed":0,"bound":-3.5,"passes":1,"status":"converged","best":0,"restarts":[{"start":"seeded","status":"converged","bounds":[-4.0,-3.5]}]}"#;
    let mean = &[0.0, 0.0, 10.0, 10.0];
    vec![
        Parts {
            manifest: format!(r#"{{"format":1,"model":"mcvq","columns":["a","b"],{training}}}"#),
            tensors: vec![
                tensor("gate", &[2, 2], &[0.9, 0.1, 0.2, 0.8]),
                tensor("gate_prior", &[2, 2], &[0.9, 0.1, 0.2, 0.8]),
                tensor("mean", &[2, 1, 2], mean),
                tensor("state_prior", &[2, 1], &[1.0; 2]),
                tensor("variance", &[2, 1, 2], &[1.0; 4]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"mcvq","kinds":[{"kind":"category","levels":["x","y","z"]},{"kind":"count"}]}"#.to_owned(),
            tensors: vec![
                tensor("gate", &[2, 1], &[1.0; 2]),
                tensor("level", &[1, 2, 3], &[0.2, 0.3, 0.5, 0.0, 1.0, 0.0]),
                tensor("mean", &[1, 2, 2], &[0.0, 3.5, 0.0, 0.25]),
                tensor("state_prior", &[1, 2], &[0.5; 2]),
                tensor("variance", &[1, 2, 2], &[1.0; 4]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"gmm","kinds":[{"kind":"yes/no","levels":["no","yes"]},{"kind":"ordered","levels":["s","m","l"]}]}"#.to_owned(),
            tensors: vec![
                tensor("level", &[2, 5], &[0.5, 0.5, 0.2, 0.3, 0.5, 0.1, 0.9, 0.0, 0.0, 1.0]),
                tensor("mean", &[2, 2], &[0.0; 4]),
                tensor("variance", &[2, 2], &[1.0; 4]),
                tensor("weight", &[2], &[0.5; 2]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"average","members":{"model":"vq","count":2}}"#.to_owned(),
            tensors: vec![
                tensor("member0.mean", &[1, 2], &[0.0, 1.0]),
                tensor("member0.state_prior", &[1], &[1.0]),
                tensor("member0.variance", &[1], &[1.0]),
                tensor("member1.mean", &[2, 2], mean),
                tensor("member1.state_prior", &[2], &[0.5; 2]),
                tensor("member1.variance", &[1], &[2.0]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"mcvq"}"#.to_owned(),
            tensors: vec![
                tensor("gate", &[2, 1], &[1.0; 2]),
                tensor("mean", &[1, 2, 2], mean),
                tensor("state_prior", &[1, 2], &[0.5; 2]),
                tensor("variance", &[1, 2, 2], &[1.0; 4]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"mcvq","classes":["day","night"]}"#.to_owned(),
            tensors: vec![
                tensor("class_prior", &[2], &[0.5; 2]),
                tensor("gate", &[2, 1], &[1.0; 2]),
                tensor("mean", &[1, 2, 2], mean),
                tensor("state_prior", &[2, 1, 2], &[0.9, 0.1, 0.2, 0.8]),
                tensor("variance", &[1, 2, 2], &[1.0; 4]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"mcfa","classes":["day","night"]}"#.to_owned(),
            tensors: vec![
                tensor("class_prior", &[2], &[0.5; 2]),
                tensor("factor_mean", &[2, 1, 1], &[1.0, -1.0]),
                tensor("gate", &[2, 1], &[1.0; 2]),
                tensor("loading", &[1, 2, 1], &[1.0; 2]),
                tensor("noise", &[1, 2], &[1.0; 2]),
                tensor("offset", &[1, 2], &[0.0; 2]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"mcvq","params":{"gate":"factorised"}}"#.to_owned(),
            tensors: vec![
                tensor("gate", &[2, 2], &[0.9, 0.1, 0.2, 0.8]),
                tensor("mean", &[2, 1, 2], mean),
                tensor("state_prior", &[2, 1], &[1.0; 2]),
                tensor("variance", &[2, 1, 2], &[1.0; 4]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"mcfa","columns":["a","b"]}"#.to_owned(),
            tensors: vec![
                tensor("gate", &[2, 2], &[0.9, 0.1, 0.2, 0.8]),
                tensor("loading", &[2, 2, 1], &[1.0, 0.5, -1.0, 0.25]),
                tensor("offset", &[2, 2], &[0.0, 0.0, 10.0, 10.0]),
                tensor("noise", &[2, 2], &[1.0; 4]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"mcfa"}"#.to_owned(),
            tensors: vec![
                tensor("covariance", &[1, 2, 3], &[0.5, 0.1, 0.25, 0.0, 0.0, 0.0]),
                tensor("gate", &[2, 1], &[1.0; 2]),
                tensor("loading", &[1, 2, 1], &[1.0, -0.5]),
                tensor("noise", &[1, 2], &[1.0; 2]),
                tensor("offset", &[1, 2], &[0.0, 3.0]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"vq","picture":{"height":1,"width":2,"channels":1}}"#
                .to_owned(),
            tensors: vec![
                tensor("mean", &[2, 2], mean),
                tensor("state_prior", &[2], &[0.5; 2]),
                tensor("variance", &[1], &[1.0]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"gmm","absent":"zero","fingerprint":"0a"}"#.to_owned(),
            tensors: vec![
                tensor("mean", &[2, 2], mean),
                tensor("state_prior", &[2], &[0.5; 2]),
                tensor("variance", &[2, 2], &[1.0; 4]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"gmm"}"#.to_owned(),
            tensors: vec![
                tensor("weight", &[2], &[0.5; 2]),
                tensor("mean", &[2, 2], mean),
                tensor("covariance", &[2, 2, 2], &[1.0, 0.5, 0.5, 1.0, 2.0, 0.0, 0.0, 1.0]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"gmm"}"#.to_owned(),
            tensors: vec![
                tensor("weight", &[2], &[0.5; 2]),
                tensor("mean", &[2, 2], mean),
                tensor("loading", &[2, 2, 1], &[1.0, 0.5, -1.0, 0.25]),
                tensor("noise", &[2, 2], &[1.0; 4]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"student"}"#.to_owned(),
            tensors: vec![
                tensor("weight", &[1], &[1.0]),
                tensor("mean", &[1, 2], &[0.0, 1.0]),
                tensor("scale", &[1, 2, 2], &[1.0, 0.5, 0.5, 1.0]),
                tensor("degrees", &[1], &[3.0]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"deep-gmm"}"#.to_owned(),
            tensors: vec![
                tensor("layer1.transform", &[2, 1, 1], &[1.0, 2.0]),
                tensor("layer1.bias", &[2, 1], &[0.0, 1.0]),
                tensor("layer2.transform", &[1, 1, 1], &[3.0]),
                tensor("layer2.bias", &[1, 1], &[0.5]),
                tensor("path_weight", &[2, 1], &[0.25, 0.75]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"pca","params":{"whiten":true}}"#.to_owned(),
            tensors: vec![
                tensor("component", &[1, 2], &[0.6, 0.8]),
                tensor("mean", &[2], &[1.0, 2.0]),
                tensor("explained_variance", &[1], &[4.0]),
                tensor("noise", &[1], &[0.5]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"fa"}"#.to_owned(),
            tensors: vec![
                tensor("component", &[2, 2], &[0.6, 0.8, 1.0, -1.0]),
                tensor("mean", &[2], &[1.0, 2.0]),
                tensor("noise", &[2], &[0.5, 0.25]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"nmf","params":{"loss":"kl"}}"#.to_owned(),
            tensors: vec![tensor("component", &[2, 2], &[0.6, 0.4, 0.0, 1.0])],
        },
        Parts {
            manifest: r#"{"format":1,"model":"aspect"}"#.to_owned(),
            tensors: vec![
                tensor("mean", &[2, 2], mean),
                tensor("tempering", &[2], &[0.8, 0.5]),
                tensor("variance", &[2, 2], &[1.0; 4]),
                tensor("weight", &[2], &[0.25, 0.75]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"urp"}"#.to_owned(),
            tensors: vec![
                tensor("level", &[1, 2, 2], &[0.9, 0.1, 0.2, 0.8]),
                tensor("prior", &[1], &[0.5]),
                tensor("value", &[2], &[1.0, 5.0]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"bfa"}"#.to_owned(),
            tensors: vec![
                tensor("bias_variance", &[1], &[0.2]),
                tensor("chosen", &[2, 1], &[0.3, -0.1]),
                tensor("component", &[1, 2], &[0.6, -0.8]),
                tensor("covariance", &[2, 3], &[0.1, 0.05, 0.2, 0.1, 0.0, 0.1]),
                tensor("mean", &[2], &[1.0, 2.0]),
                tensor("noise", &[2], &[0.5, 0.25]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"ae","params":{"loss":"squared","layers":{"encoder":[{"Dense":{"inputs":2,"outputs":1}}],"decoder":[{"Dense":{"inputs":1,"outputs":2}},{"Activation":{"width":2,"function":"tanh"}}]}}}"#
                .to_owned(),
            tensors: vec![
                tensor("centre", &[2], &[0.0, 1.0]),
                tensor("code_mean", &[1], &[0.0]),
                tensor("code_root", &[1, 1], &[1.0]),
                tensor("decoder.0.bias", &[2], &[0.0; 2]),
                tensor("decoder.0.weight", &[2, 1], &[1.0; 2]),
                tensor("encoder.0.bias", &[1], &[0.5]),
                tensor("encoder.0.weight", &[1, 2], &[1.0, -1.0]),
                tensor("scale", &[2], &[1.0; 2]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"vae","params":{"code":1,"layers":{"encoder":[{"Conv":{"from":{"height":1,"width":2,"channels":1},"to":{"height":1,"width":1,"channels":2},"kernel":2,"stride":2}}],"decoder":[{"Dense":{"inputs":1,"outputs":2}}]}}}"#
                .to_owned(),
            tensors: vec![
                tensor("centre", &[2], &[0.0, 1.0]),
                tensor("decoder.0.bias", &[2], &[0.0; 2]),
                tensor("decoder.0.weight", &[2, 1], &[1.0; 2]),
                tensor("encoder.0.bias", &[2], &[0.0; 2]),
                tensor("encoder.0.weight", &[2, 2, 2, 1], &[0.1; 8]),
                tensor("noise", &[2], &[1.0; 2]),
                tensor("scale", &[2], &[1.0; 2]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"gvq"}"#.to_owned(),
            tensors: vec![
                tensor("feature", &[2, 1, 2], mean),
                tensor("origin", &[2, 2], mean),
                tensor("penalty", &[1], &[0.5]),
                tensor("variance", &[1], &[1.0]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"gvq"}"#.to_owned(),
            tensors: vec![
                tensor("beta", &[1], &[4.5]),
                tensor("feature", &[1, 2, 2], &[0.1, 0.9, 0.8, 0.2]),
                tensor("origin", &[1, 2], &[0.5; 2]),
            ],
        },
        Parts {
            manifest: r#"{"format":1,"model":"cvq"}"#.to_owned(),
            tensors: vec![
                tensor("mean", &[2, 1, 2], mean),
                tensor("state_prior", &[2, 1], &[1.0; 2]),
                tensor("variance", &[1], &[1.0]),
            ],
        },
    ]
}

/// A safetensors file: the length of its header, the header, the numbers.
fn assemble(parts: &Parts) -> Vec<u8> {
    let mut header = format!(r#"{{"__metadata__":{{"mereo":{:?}}}"#, parts.manifest);
    let mut data: Vec<u8> = Vec::new();
    for (name, shape, values) in &parts.tensors {
        let start = data.len();
        data.extend(values);
        let end = data.len();
        write!(
            header,
            r#","{name}":{{"dtype":"F64","shape":{shape},"data_offsets":[{start},{end}]}}"#
        )
        .expect("writing to memory");
    }
    header.push('}');
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend(data);
    bytes
}

pub(super) fn model_files() -> Vec<Vec<u8>> {
    models().iter().map(assemble).collect()
}

/// A sound safetensors file of an unsound model.
pub(super) fn changed_model(random: &mut Random) -> Vec<u8> {
    let mut all = models();
    let mut parts = all.swap_remove(random.below(all.len()));
    if random.one_in(3) {
        let mut text = parts.manifest.into_bytes();
        mutate(&mut text, &[b"\"training\":null".to_vec()], random);
        parts.manifest = String::from_utf8_lossy(&text).into_owned();
    } else {
        let which = random.below(parts.tensors.len());
        let values = &mut parts.tensors[which].2;
        for _ in 0..=random.below(3) {
            // A whole number at a time, so that there are enough of them.
            let at = 8 * random.below(values.len() / 8);
            let number = match random.below(4) {
                0 => f64::from_bits(random.next()),
                1 => *random.choose(&[0.0, -1.0, 1e-320, 1e-300, 1e150, 1e300, f64::MAX, f64::NAN]),
                2 => random.next() as f64 / u64::MAX as f64,
                _ => 10f64.powi(random.below(600) as i32 - 300),
            };
            values[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        if random.one_in(4) {
            let shapes = ["[4]", "[0]", "[]", "[1,4]", "[4,1,1]"];
            parts.tensors[which].1 = (*random.choose(&shapes)).into();
        }
    }
    assemble(&parts)
}

pub(super) fn checkpoints() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("run.ck");
    // Nothing to go on from: learning starts anew and leaves a checkpoint.
    learn_with_checkpoint(&path).expect("learning a sound table");
    vec![std::fs::read(&path).expect("the checkpoint that was just written")]
}

pub(super) fn steps() -> Vec<Vec<u8>> {
    let cells = vec![1.0, 10.0, 3.0, f64::NAN, 2.0, 4.0];
    let table = Table::from(Dense::new(3, 2, cells).expect("three rows of two"));
    let lists: [&[&str]; 4] = [
        &["log", "scale:-1,1"],
        &["standardise"],
        &["remove-row-means", "remove-column-means"],
        &["equalise", "scale-all:0,1"],
    ];
    lists
        .iter()
        .map(|names| {
            let kinds: Vec<_> = names.iter().map(|n| n.parse().expect("a step's name")).collect();
            let steps = Steps::learn(&kinds, &table, &Context::new(0)).expect("a sound table");
            serde_json::to_vec(&steps).expect("writing to memory")
        })
        .collect()
}

/// Compressed pictures of every kind, and a compressed table.
pub(crate) fn coded() -> Vec<Vec<u8>> {
    let context = Context::new(0);
    let mut files = Vec::new();
    for (channels, colour, features, sets) in
        [(1, Colour::Grey, 3, 1), (3, Colour::Planes, 1, 2), (3, Colour::YCbCr, 0, 3)]
    {
        let pixels = (0..20 * 20 * u32::from(channels)).map(|i| (i * 7 % 251) as u8).collect();
        let picture = Picture { width: 20, height: 20, channels, pixels };
        let params = CodecParams {
            block: 4,
            features,
            sets,
            bits: 6,
            colour,
            restarts: 1,
            ..CodecParams::default()
        };
        let coded = Coded::of_picture(&picture, &params, &context).expect("a picture");
        files.push(coded.to_bytes());
    }
    let cells = (0..20).map(|i| f64::from(i * 7 % 5)).collect();
    let table = Table::from(Dense::new(10, 2, cells).expect("a table"));
    let (model, _) = gvq::fit(&GvqParams::new(2), &table, &Plan::default(), &context, &mut Silent)
        .expect("features");
    files.push(Coded::of_table::<f64>(&model, &table, 9, &context).expect("codes").to_bytes());
    files
}

/// What tells labels of a small picture, by mixtures and by a regression.
pub(super) fn colours() -> Vec<Vec<u8>> {
    let bytes = (0..48).map(|i| if i % 8 < 4 { 200 + i as u8 } else { i as u8 }).collect();
    let picture = Pixels { height: 6, width: 8, channels: 1, bytes };
    let labels: Vec<u8> = (0..48).map(|i| if i % 8 < 4 { 1 } else { 2 }).collect();
    let each = [Telling::Mixtures, Telling::Regression].map(|telling| {
        let params = SegmentParams { telling, components: 1, ..SegmentParams::default() };
        let colours = Colours::of_picture(&picture, &labels, &params, &Context::new(0));
        let file = colours.expect("two labels").to_file(Manifest::new(Colours::KIND));
        file.to_bytes().expect("a model is a file")
    });
    each.to_vec()
}

/// Maps of rows by every method, one through a model; and one of distances alone.
pub(super) fn maps() -> Vec<Vec<u8>> {
    let cells = (0..24).map(|i| f64::from(i * 7 % 11) + f64::from(i / 12) * 20.0).collect();
    let table = Table::from(Dense::new(8, 3, cells).expect("8 rows"));
    let context = Context::new(0);
    let mut journey = Journey { context: &context, checkpoints: None, watch: &mut |_| () };
    let mut files = Vec::new();
    for method in [Method::tsne(), Method::sammon(), Method::mds(), Method::Pcoa] {
        let mapped = MapFit::new(MapParams::new(method)).run(&table, None, &mut journey);
        files.push(mapped.expect("a map").to_file());
    }
    let pca = Fit::new(mereo::linear::PcaParams::new(2)).run(&table).expect("components");
    let how = MapFit::new(MapParams::new(Method::tsne())).through(pca).expect("codes");
    files.push(how.run(&table, None, &mut journey).expect("a map").to_file());
    let far = [0.0, 1.0, 2.0, 3.0, 1.0, 0.0, 1.5, 2.0, 2.0, 1.5, 0.0, 1.0, 3.0, 2.0, 1.0, 0.0];
    let far = Distances::new(4, far.to_vec()).expect("distances");
    let none: Option<&dyn Source<f64>> = None;
    for method in [Method::Pcoa, Method::mds()] {
        let how = MapFit::new(MapParams::new(method));
        files.push(how.run_distances(&far, none, &mut journey).expect("a map").to_file());
    }
    let bytes = |file: mereo_core::Result<mereo_core::ModelFile>| file.and_then(|f| f.to_bytes());
    files.into_iter().map(|file| bytes(file).expect("a map is a file")).collect()
}
