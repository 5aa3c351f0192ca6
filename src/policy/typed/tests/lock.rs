//! The lock file: what it holds comes back, and what it does not know is refused.

use serde_json::json;

use super::*;

fn file(layer: Layer, text: &str) -> PolicySource {
    PolicySource {
        layer,
        file: format!("{}.json", layer.name()),
        text: text.to_owned(),
    }
}

fn lock(tool: &str, schema: &Json) -> String {
    let mut lock = ToolLock::default();
    let locked = LockedTool::new(Digest::of("definition"), schema).unwrap();
    lock.tools.insert(tool.to_owned(), locked);
    lock.text()
}

#[test]
fn what_is_written_is_read() {
    let schema = json!({"type": "object", "required": ["b"], "properties": {
        "a": {"type": ["string", "null"]}, "b": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "number"}}}},
        "c": {}, "e": {"type": "boolean"}, "f": {"type": "integer"},
    }});
    let text = lock("user/fs/ns::tool \"x\"/v2", &schema);
    let read = ToolLock::read(&file(Layer::User, &text)).unwrap();
    assert_eq!(read.text(), text);
    assert_eq!(read.tools.len(), 1);
}

#[test]
fn what_means_nothing_is_refused() {
    let good = lock(
        "user/fs/x",
        &json!({"type": "object", "properties": {"a": {"type": "string"}}}),
    );
    let check = |from: &str, to: &str, want: &str| {
        let text = good.replace(from, to);
        assert_ne!(text, good, "{from}");
        let problem = ToolLock::read(&file(Layer::User, &text)).unwrap_err();
        assert!(problem.to_string().contains(want), "{problem}");
        assert!(
            problem.fatal && problem.hint.contains("--write"),
            "{problem}"
        );
    };
    check("\"version\": 1", "\"version\": 2", "`version` is 2");
    check("\"String\"", "\"Text\"", "unknown variant `Text`");
    check("\"optional\": true", "\"optionel\": true", "mean nothing");
    check(
        "\"version\": 1",
        "\"version\": 1, \"more\": 1",
        "mean nothing",
    );
    check("\"digest\": \"", "\"digest\": \"x", "no lock of tools");
    check("\"tools\": {", "\"tools\": [", "user.json:");
    check(
        "\"version\": 1,",
        "\"version\": 1, \"version\": 1,",
        "user.json:",
    );
}

/// The schema of the file says what the program writes, and what it refuses.
#[test]
fn the_schema_of_the_file_holds() {
    let text = include_str!("../../../../schemas/tools-lock.v1.json");
    let published: Json = serde_json::from_str(text).unwrap();
    let published = jsonschema::validator_for(&published).unwrap();
    let schema = json!({"type": "object", "required": ["b"], "properties": {
        "a": {"type": ["string", "null"]}, "c": {},
        "b": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "number"}}}},
    }});
    let good: Json = serde_json::from_str(&lock("user/fs/x", &schema)).unwrap();
    assert!(published.is_valid(&good), "{good}");
    let check = |at: &str, value: Json| {
        let mut bad = good.clone();
        *bad.pointer_mut(at).unwrap() = value;
        assert!(!published.is_valid(&bad), "{bad}");
        let text = bad.to_string();
        assert!(ToolLock::read(&file(Layer::User, &text)).is_err(), "{text}");
    };
    check("/version", json!(2));
    check("/tools/user~1fs~1x/digest", json!("x"));
    check("/tools/user~1fs~1x/input/a", json!({"type": "Text"}));
    check(
        "/tools/user~1fs~1x/input/a",
        json!({"type": "String", "optionel": true}),
    );
    check(
        "/tools/user~1fs~1x/input/b/element",
        json!({"type": "Record"}),
    );
    check("/tools/user~1fs~1x/input/c", json!({"type": "Omitted"}));
}

/// The organisation's lock wins over the user's, in whatever order they come; a project has none.
#[test]
fn the_organisation_locks_first() {
    let schema = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}});
    let of_org = file(Layer::Org, &lock("org/git/push", &schema("branch")));
    let of_user = file(Layer::User, &lock("org/git/push", &schema("name")));
    let (locks, warnings) = Locks::read(&[of_user, of_org.clone()]).unwrap();
    assert_eq!(locks.get("org/git/push").unwrap().file, "org.json");
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].to_string().contains("`org.json` locks another"),
        "{}",
        warnings[0]
    );
    let (_, warnings) = Locks::read(&[of_org.clone(), of_org.clone()]).unwrap();
    assert!(warnings.is_empty());
    let of_project = PolicySource {
        layer: Layer::Project,
        ..of_org
    };
    assert!(Locks::read(&[of_project]).unwrap_err()[0].fatal);
}
