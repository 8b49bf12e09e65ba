//! Benchmarks of our own, then the peers' at the same sizes on the same machine.

use crate::command::{Failure, Outcome, cargo, exists, program, root};

pub(crate) fn run() -> Outcome {
    cargo("run --release --package mereo-benches").run()?;
    let python = ["python3", "python"]
        .into_iter()
        .find(|python| exists(python))
        .ok_or_else(|| Failure::new("the peers need Python 3, and it is not installed"))?;
    let folder = root().join("target/peers");
    let inside = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !inside.is_file() {
        program(python).with(["-m", "venv"]).path(&folder).run()?;
    }
    let packages = root().join("benches/requirements.txt");
    program(&inside).with(["-m", "pip", "install", "--quiet", "-r"]).path(&packages).run()?;
    for script in [
        "peers.py",
        "quantisers.py",
        "fields_peers.py",
        "kmeans_peers.py",
        "ratings_speed_peers.py",
    ] {
        program(&inside).path(&root().join("benches").join(script)).run()?;
    }
    Ok(())
}
