//! Signals at any time, in any verb; rights of files; what earlier runs left behind.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::world::World;

fn send(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

/// Waits until something is so.
fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < Duration::from_mins(2), "{what} never happened");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The program, started by a shell that was told something first.
fn start_after(world: &World, told: &str, line: &str) -> Child {
    let program = env!("CARGO_BIN_EXE_mereo");
    Command::new("sh")
        .args(["-c", &format!("{told}; exec {program} {line}")])
        .current_dir(world.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Writing that takes a while.
fn slow_writing(world: &World) -> Child {
    let child = world.start("-q sample m.safetensors -n 400000 -o s.csv");
    wait_until("writing", || world.path(".s.csv.mereo-0").exists());
    child
}

#[test]
fn a_signal_while_a_file_is_written_leaves_nothing_behind() {
    for (signal, code) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129), ("-QUIT", 131)] {
        let world = World::with_model("d.npy");
        let before = world.names();
        let mut child = slow_writing(&world);
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert_eq!(world.names(), before, "{signal}");
    }
}

#[test]
fn what_a_kill_left_is_cleaned_by_the_next_run() {
    let world = World::with_model("d.npy");
    let before = world.names();
    let mut child = slow_writing(&world);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(world.path(".s.csv.mereo-0").exists());
    // Another verb, and another file.
    world.ok("-q score m.safetensors d.npy -o other.csv");
    let mut expected = before;
    expected.push("other.csv".to_owned());
    expected.sort();
    assert_eq!(world.names(), expected);
}

#[test]
fn a_hang_up_that_is_ignored_stays_ignored() {
    let world = World::new();
    world.ok("-q toy shapes --rows 300 -o d.npy");
    let line = "-q fit mcvq d.npy --parts 3 --states 4 --restarts 1 --passes 150 --tolerance 0 \
                --checkpoint c --checkpoint-every 0 -o m.safetensors";
    let mut child = start_after(&world, "trap '' HUP", line);
    wait_until("learning", || world.path("c").exists());
    send(&child, "-HUP");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let shown = world.json("show m.safetensors --json");
    assert_ne!(shown["manifest"]["training"]["status"], "interrupted");
}

#[test]
fn an_interrupt_while_data_is_read_ends_the_program_soon() {
    let world = World::new();
    let fifo = world.path("data.csv");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut child = world.start("fit gmm data.csv --components 2 -o m.safetensors");
    // Rows without end.
    let mut feeder = Command::new("sh")
        .args(["-c", "echo a,b; while :; do echo 1,2; echo 3,4; done"])
        .stdout(std::fs::OpenOptions::new().write(true).open(&fifo).unwrap())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let asked = Instant::now();
    send(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    feeder.kill().unwrap();
    feeder.wait().unwrap();
    assert_eq!(world.names(), ["data.csv"]);
}

#[test]
fn files_are_made_under_the_users_mask() {
    let world = World::new();
    for (mask, mode) in [("077", 0o600), ("027", 0o640), ("002", 0o664)] {
        let told = format!("umask {mask}");
        let name = format!("d{mask}.csv");
        let line = format!("-q toy shapes --rows 3 -o {name}");
        assert!(start_after(&world, &told, &line).wait().unwrap().success());
        let found = std::fs::metadata(world.path(&name)).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{mask}");
    }
}

#[test]
fn a_link_as_output_stays_a_link() {
    let world = World::new();
    std::fs::create_dir(world.path("store")).unwrap();
    std::os::unix::fs::symlink("store/real.csv", world.path("d.csv")).unwrap();
    world.ok("-q toy shapes --rows 3 -o d.csv");
    assert!(std::fs::symlink_metadata(world.path("d.csv")).unwrap().is_symlink());
    assert!(world.path("store/real.csv").is_file());
    // What is read through one name is not written through another.
    let told = world.refused("-q fit gmm store/real.csv --components 1 -o d.csv");
    assert!(told.contains("would be lost"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn memory_that_the_program_was_not_given_is_an_error_and_no_crash() {
    let world = World::new();
    world.ok("-q toy shapes --rows 30 -o d.npy");
    let line = "-q fit mcvq d.npy --parts 2 --states 1000000 -o m.safetensors";
    let mut child = start_after(&world, "ulimit -v 3000000", line);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}
