//! Tests that the documents name exist.

use std::collections::BTreeSet;
use std::path::Path;

/// Appends all source files of the repository.
fn sources(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                sources(&path, into);
            }
        } else if name.ends_with(".rs") {
            into.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_test_that_a_document_names_is_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = String::new();
    for folder in ["crates", "tests", "xtask"] {
        sources(&root.join(folder), &mut all);
    }
    let mut missing = BTreeSet::new();
    let mut named = 0;
    for document in ["docs/threats.md", "docs/reliability.md", "SECURITY.md", "ARCHITECTURE.md"] {
        let text = std::fs::read_to_string(root.join(document)).unwrap();
        // Only names of tests have four or more words between backticks.
        for name in text.split('`').skip(1).step_by(2) {
            let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if name.chars().all(word) && name.matches('_').count() >= 3 {
                named += 1;
                if !all.contains(&format!("fn {name}(")) {
                    missing.insert(format!("{document}: {name}"));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(named > 50, "{named}");
}
