//! Prints `docs/models.md`: the models, what can be chosen for each and what it can do.

fn main() {
    print!("{}", mereo::models_in_markdown());
}
