//! mereo-cli
fn main() {}
