//! Files of policies that look right and are not: each is refused with file, line and a way out.

use std::path::{Path, PathBuf};

use creance::{Policies, PolicyFiles};

fn cases(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases/policies")
        .join(folder);
    let entries = folder.read_dir().unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// A file in a layer of its own.
fn store(layer: &str, name: &str, text: &str) -> Policies {
    let stage = tempfile::tempdir().unwrap();
    let folder = stage.path().join(layer);
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
    PolicyFiles::of(stage.path()).unwrap().store()
}

#[test]
fn each_is_refused_with_its_place_and_a_way_out() {
    for case in cases("refused") {
        let text = std::fs::read_to_string(&case).unwrap();
        let name = case.file_name().unwrap().to_str().unwrap();
        // Without its second ending: the text is what is refused, and not the name.
        let name = name.trim_end_matches(".txt");
        // A permit for everything is refused where it must not stand.
        let project = text.starts_with("@id(\"sneaky\")");
        let policies = store(if project { "project" } else { "org" }, name, &text);
        let place = policies
            .notices
            .iter()
            .filter_map(|notice| notice.place.as_ref());
        let said = place
            .filter(|place| place.line > 0 && !place.hint.is_empty() && !place.source.is_empty())
            .count();
        assert!(said > 0, "{name}: {:#?}", policies.notices);
        let listed = policies.store.list();
        let in_force = listed.iter().any(|policy| policy.file.ends_with(name));
        assert!(!in_force, "{name} is in force");
        assert_eq!(
            policies.whole, project,
            "a project's file costs only itself: {name}"
        );
    }
}

#[test]
fn each_accepted_one_is_in_force() {
    for case in cases("accepted") {
        let text = std::fs::read_to_string(&case).unwrap();
        let name = case.file_name().unwrap().to_str().unwrap();
        let policies = store("org", name, &text);
        assert!(policies.whole, "{name}: {:#?}", policies.notices);
        let listed = policies.store.list();
        assert!(
            listed.iter().any(|policy| policy.file.ends_with(name)),
            "{name}"
        );
    }
}
