//! A second of hostile input for every target.

use std::process::Command;

#[test]
fn a_second_of_hostile_input_is_survived() {
    // Unoptimised, and beside other tests, an input may take its time.
    let outcome = Command::new(env!("CARGO_BIN_EXE_mereo-fuzz"))
        .args(["--slow", "30", "1"])
        .output()
        .expect("the program that was built with this test");
    let said = String::from_utf8_lossy(&outcome.stdout);
    let complained = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "{said}\n{complained}");
    // Seeds are right, and most of what is made of them is not.
    assert_eq!(said.matches(" ok ").count(), 20, "{said}");
}
