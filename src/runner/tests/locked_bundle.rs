//! A bundle that names a tool as an action ships its lock, under the same signature.

use serde_json::json;

use crate::digest::Digest;
use crate::policy::{BundleFiles, LockedTool, PolicyTest, SigningKey, ToolLock};
use crate::request::TOOL_LOCK;
use crate::runner::policies::Policies;
use crate::runner::release::{Draft, read_bundle, verify_bundle};

const POLICY: &str = r#"@id("base") @reason("Release branches.")
forbid (principal, action == Action::"org/github/merge", resource) when { context.input.base like "release/*" };
"#;
const TESTS: &str = r#"[
  {"name": "a release", "do": {"action": "org/github/merge", "input": {"base": "release/1"}}, "expect": "deny", "because": ["org/acme/base"]},
  {"name": "another", "do": {"action": "org/github/merge", "input": {"base": "main"}}, "expect": "ask"}
]"#;

fn lock() -> String {
    let schema =
        json!({"type": "object", "properties": {"base": {"type": "string"}}, "required": ["base"]});
    let mut lock = ToolLock::default();
    let tool = LockedTool::new(Digest::of("tool"), &schema).unwrap();
    lock.tools.insert("org/github/merge".to_owned(), tool);
    lock.text()
}

#[test]
fn a_bundle_ships_its_lock() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("tests")).unwrap();
    write("acme.cedar", POLICY);
    write("tests/acme.json", TESTS);
    let draft = Draft {
        name: Some("acme".to_owned()),
        days: 9,
        ..Draft::default()
    };
    let said = draft.write(folder.path()).unwrap_err().to_string();
    assert!(said.contains("names the tool `org/github/merge`"), "{said}");
    write(TOOL_LOCK, &lock());
    let (manifest, tests) = draft.write(folder.path()).unwrap();
    assert_eq!(tests, 2);
    assert!(manifest.files.contains_key(TOOL_LOCK));
    let (secret, public) = SigningKey::generate("").unwrap();
    let key = SigningKey::read(&secret, "").unwrap();
    write(
        "manifest.json.minisig",
        &key.sign(&manifest.text(), "t").unwrap(),
    );
    let files = read_bundle(folder.path().to_str().unwrap(), None).unwrap();
    // Packed into one file and unpacked, it is the same.
    let files = BundleFiles::unpack(files.pack().as_bytes()).unwrap();
    let bundle = verify_bundle(&files, std::slice::from_ref(&public)).unwrap();
    let policies = Policies::of_parts(bundle.parts.clone());
    assert!(policies.whole, "{:?}", policies.notices);
    let tests: Vec<PolicyTest> = bundle
        .tests
        .iter()
        .flat_map(|it| PolicyTest::read(it).unwrap())
        .collect();
    assert_eq!(policies.store.test(&tests, &[]).failed().count(), 0);
    // Nobody puts another lock in.
    let mut other = files;
    let text = lock().replace("\"String\"", "\"Long\"");
    other.files.insert(TOOL_LOCK.to_owned(), text);
    let said = verify_bundle(&other, &[public]).unwrap_err().to_string();
    assert!(said.contains("is not what was signed"), "{said}");
}
