//! mereo-benches
fn main() {}
