//! What the documentation says of the models is what the models say of themselves.

use std::path::Path;

#[test]
fn the_page_of_models_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        page == mereo::models_in_markdown(),
        "docs/models.md is old: cargo run -p mereo --example models_page > docs/models.md"
    );
}
