//! The help of every command: there, on 80 columns, with every subcommand that it names.

use crate::stage::Stage;

/// The help of a command, and of those below it.
fn help(stage: &Stage, command: &[String], all: &mut Vec<(String, String)>) {
    let mut args: Vec<&str> = command.iter().map(String::as_str).collect();
    args.push("--help");
    let (code, text) = stage.says(&args);
    assert_eq!(code, Some(0), "{args:?}: {text}");
    let commands = text.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names: Vec<String> = commands
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect();
    all.push((command.join(" "), text));
    for name in names {
        help(stage, &[command, &[name]].concat(), all);
    }
}

#[test]
fn every_help_is_read_on_80_columns() {
    let stage = Stage::new();
    let mut all = Vec::new();
    help(&stage, &[], &mut all);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "dry-run call",
        "audit key take",
        "policy test",
        "answers rule",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    for (name, text) in &all {
        assert!(text.contains("Usage: creance"), "{name}: {text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        // An example is typed as it stands: it goes on in its own line alone.
        let examples = text.lines().skip_while(|line| !line.starts_with("Example"));
        for (line, next) in examples.clone().zip(examples.skip(1)) {
            let broken = line.starts_with("  creance") && next.starts_with(|c: char| c != ' ');
            let sentence = next.starts_with(|c: char| c.is_uppercase() || c == '`');
            assert!(!broken || sentence, "{name}: {line}\n{next}");
        }
    }
}
