//! SBX-06: what Creance's own commands write in a project stays in it, whatever links lie there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::stage::Stage;

const UNTIDY: &str = r#"@id("a") @reason("x")
forbid (principal,action == Action::"exec.run",resource) when {resource.name == "x"};
"#;

#[test]
fn sbx_06_commands_write_through_no_link() {
    let stage = Stage::new();
    let root = stage.project.join("case");
    let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/sandbox/SBX-06.setup.sh");
    let made = Command::new("sh").arg(setup).arg(&root).status();
    assert!(made.unwrap().success());
    // The workspace of the case is the project.
    fs::create_dir(root.join("ws/.git")).unwrap();
    let in_ws = |args: &[&str]| {
        let output = stage.creance(args).current_dir(root.join("ws")).output();
        let output = output.unwrap();
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    };
    let outside = |name: &str| fs::read_to_string(root.join("outside").join(name)).ok();
    let untouched = |said: &str| {
        assert_eq!(
            outside("victim.txt").as_deref(),
            Some("original\n"),
            "{said}"
        );
        for name in [
            "new.txt",
            "made.txt",
            "rules.cedar.new",
            "manifest.json.minisig",
        ] {
            assert_eq!(outside(name), None, "{name}: {said}");
        }
    };
    let (done, said) = in_ws(&["policy", "init", "careful", "policies"]);
    assert!(done, "{said}");
    for line in include_str!("../cases/sandbox/SBX-06.paths.tsv")
        .lines()
        .skip(1)
    {
        let (path, want) = line.split_once('\t').unwrap();
        let path = path.strip_prefix("ws/").unwrap();
        let (done, said) = in_ws(&["policy", "test", "policies", "--junit", path]);
        assert_eq!(done, want == "allow", "{path}: {said}");
        untouched(&said);
    }
    let written = fs::read_to_string(root.join("ws/sub/real.txt")).unwrap();
    assert!(written.contains("<testsuite"), "{written}");
    assert!(root.join("ws/inside.txt").is_symlink());

    let fifo = Command::new("mkfifo").arg(root.join("ws/pipe")).status();
    assert!(fifo.unwrap().success());
    for path in ["pipe", "sub"] {
        let (done, said) = in_ws(&["policy", "test", "policies", "--junit", path]);
        assert!(!done, "{path}: {said}");
    }
    assert!(!root.join("ws/pipe").metadata().unwrap().is_file());

    // Policies behind a link are formatted where they are, or not at all.
    fs::write(root.join("outside/rules.cedar"), UNTIDY).unwrap();
    symlink("../outside/rules.cedar", root.join("ws/linked.cedar")).unwrap();
    for path in ["linked.cedar", "dir/rules.cedar", "dir"] {
        let (done, said) = in_ws(&["policy", "fmt", path]);
        assert!(!done, "{path}: {said}");
        assert_eq!(
            outside("rules.cedar").as_deref(),
            Some(UNTIDY),
            "{path}: {said}"
        );
    }
    let (done, said) = in_ws(&["policy", "fmt", "policies"]);
    assert!(done, "{said}");

    // A manifest that is a link would have been written through.
    symlink(
        "../../outside/victim.txt",
        root.join("ws/policies/manifest.json"),
    )
    .unwrap();
    let (done, said) = in_ws(&["policy", "bundle", "policies", "--name", "acme"]);
    assert!(!done, "{said}");
    untouched(&said);
    // The gateway goes into no client's file behind a link.
    fs::create_dir(root.join("ws/.cursor")).unwrap();
    symlink("../../outside/victim.txt", root.join("ws/.cursor/mcp.json")).unwrap();
    for path in [".cursor/mcp.json", "dir/mcp.json"] {
        let export = ["server", "export", "--to", "cursor", "--file", path];
        let (done, said) = in_ws(&export);
        assert!(!done, "{path}: {said}");
        untouched(&said);
        assert_eq!(outside("mcp.json"), None, "{said}");
    }
}
