//! The same data, options and seed give the same file.

use crate::world::World;

#[test]
fn threads_change_nothing() {
    let world = World::new();
    world.ok("toy faces --rows 300 -o d.npy");
    for kind in [
        "mcvq d.npy --parts 3 --states 3 --restarts 2 --scouts 4",
        "vq d.npy --states 5",
        "gmm d.npy --components 4",
        "gmm d.npy --components 2 --covariance low-rank --restarts 1",
        "pca d.npy --components 4",
        "fa d.npy --components 4",
    ] {
        let model = |threads: usize| {
            world
                .ok(&format!("fit {kind} --passes 6 --threads {threads} -o {threads}.safetensors"));
            world.bytes(&format!("{threads}.safetensors"))
        };
        let one = model(1);
        assert!(one == model(2) && one == model(7), "{kind}");
        let scores = |threads: usize| {
            world.ok(&format!("score 1.safetensors d.npy --json --threads {threads}"))
        };
        assert_eq!(scores(1), scores(7));
    }
}

#[test]
fn streaming_learns_the_same_model() {
    let world = World::new();
    world.ok("toy faces --rows 250 -o d.npy");
    world.ok("toy faces --rows 250 -o d.parquet");
    for file in ["d.npy", "d.parquet"] {
        let model = |option: &str| {
            world.ok(&format!(
                "fit mcvq {file} --parts 3 --states 3 --restarts 1 --passes 5 \
                --prepare standardise {option} -o m.safetensors"
            ));
            world.bytes("m.safetensors")
        };
        assert!(model("") == model("--stream"), "{file}");
        let scores =
            |option: &str| world.ok(&format!("score m.safetensors {file} --json {option}"));
        assert_eq!(scores(""), scores("--stream"));
    }
}

#[test]
fn streams_teach_classes_the_same() {
    let world = World::new();
    world.ok("toy faces --rows 200 --labels -o d.parquet");
    world.ok("toy faces --rows 200 -o d.npy");
    for kind in ["mcvq --states 3", "mcfa --factors 2"] {
        let model = |options: &str| {
            world.ok(&format!(
                "fit {kind} {options} --parts 3 --restarts 1 --passes 4 --scouts 2 -o m.safetensors"
            ));
            world.bytes("m.safetensors")
        };
        assert!(model("d.npy --classes 3") == model("d.npy --classes 3 --stream"), "{kind}");
        let labelled = "d.parquet --labels label";
        assert!(model(labelled) == model(&format!("{labelled} --stream")), "{kind}");
    }
}

#[test]
fn another_seed_is_another_model() {
    let world = World::new();
    let model = |seed: usize| {
        world
            .ok(&format!("fit vq toy:shapes --states 5 --passes 4 --seed {seed} -o m.safetensors"));
        world.bytes("m.safetensors")
    };
    assert!(model(0) != model(1));
}

#[test]
fn streams_teach_linear_models_the_same() {
    let world = World::new();
    world.ok("toy faces --rows 250 -o d.npy");
    for kind in ["pca", "ppca", "fa", "nmf", "nmf --loss kl"] {
        let model = |option: &str| {
            world.ok(&format!(
                "fit {kind} d.npy --components 3 --passes 5 --prepare scale:0,1 {option} \
                 -o m.safetensors"
            ));
            world.bytes("m.safetensors")
        };
        assert!(model("") == model("--stream"), "{kind}");
    }
}
