//! Being stopped, politely or not.
#![cfg(unix)]

use std::io::Read;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::world::World;

/// Learning that takes a while.
fn slow(world: &World, options: &str) -> String {
    if !world.path("d.npy").exists() {
        world.ok("toy faces --rows 900 -o d.npy");
    }
    format!(
        "fit mcvq d.npy --parts 5 --states 10 --restarts 2 --scouts 2 --passes 60 --tolerance 0 \
         --checkpoint-every 0 {options}"
    )
}

/// Waits until the program has passed over the data at least once.
fn wait_for_checkpoint(world: &World, child: &mut Child) {
    let began = Instant::now();
    while !world.path("c").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended too soon");
        assert!(began.elapsed() < Duration::from_mins(5), "no checkpoint");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.try_wait().unwrap().is_none(), "it ended too soon");
}

#[test]
fn a_killed_run_resumes_to_the_identical_file() {
    let world = World::new();
    world.ok(&slow(&world, "--checkpoint whole -o whole.safetensors"));
    let line = slow(&world, "--checkpoint c --resume -o resumed.safetensors");
    let mut child = world.start(&line);
    wait_for_checkpoint(&world, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!world.path("resumed.safetensors").exists());
    // With other threads, for good measure.
    world.ok(&format!("{line} --threads 1"));
    assert!(world.bytes("whole.safetensors") == world.bytes("resumed.safetensors"));
    // What is done is done.
    let again = world.ok(&format!("{line} --json"));
    assert!(again.contains("\"restarts\":2"), "{again}");
    assert!(world.bytes("whole.safetensors") == world.bytes("resumed.safetensors"));
}

#[test]
fn an_interrupt_keeps_the_best_model_so_far() {
    let world = World::new();
    let mut child = world.start(&slow(&world, "--checkpoint c -o m.safetensors --json"));
    wait_for_checkpoint(&world, &mut child);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["status"], "interrupted");
    assert_eq!(told["converged"], false);
    let shown = world.json("show m.safetensors --json");
    assert_eq!(shown["manifest"]["training"]["status"], "interrupted");
    world.ok("score m.safetensors d.npy");
    assert_eq!(world.names(), ["c", "d.npy", "d.truth.json", "m.safetensors"]);
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let world = World::new();
    world.ok("toy shapes --rows 60 -o d.npy");
    let line = "fit mcvq d.npy --parts 2 --states 3 --restarts 1 --passes 4 --checkpoint c";
    world.ok(&format!("{line} -o m.safetensors"));
    let told = world.refused(&format!("-q {line} --resume --seed 9 -o n.safetensors"));
    assert!(told.contains("cannot be resumed") && told.contains("another seed"), "{told}");
    world.write("c", b"mereo-c1garbage that is no checkpoint");
    world.refused(&format!("-q {line} --resume -o n.safetensors"));
    world.write("c", b"");
    world.refused(&format!("-q {line} --resume -o n.safetensors"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let world = World::with_model("d.npy");
    for line in [
        "show m.safetensors --json",
        "score m.safetensors d.npy --json",
        "--help",
        "completions bash",
    ] {
        let mut child = world
            .command(line)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut told = String::new();
        child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{line}: {told}");
        assert!(!told.contains("panic") && !told.contains("error"), "{line}: {told}");
    }
}
