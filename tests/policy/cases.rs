//! Public bug reports replayed: the policies as published are refused where they could not have
//! worked, and in the words of this schema they cannot be fooled.

use creance::{
    Answer, ArgPath, HostName, Layer, NetworkWish, PolicyOutcome, PolicySet, PolicySource, Source,
    Wish,
};
use serde_json::Value;

use crate::base::{Asking, call, path, places, user, wish};

use PolicyOutcome::{Allow, Ask, Deny};

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What resolving does before a path is judged: `.` and `..` taken away, the link `link-out` followed
/// out of the project; no path at all for a text with a NUL.
fn resolve(arg: &str, text: &str) -> ArgPath {
    let mut parts: Vec<&str> = if text.starts_with('/') {
        vec![]
    } else {
        vec!["w", "p"]
    };
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            "link-out" => parts = vec!["srv"],
            part => parts.push(part),
        }
    }
    let resolved = format!("/{}", parts.join("/"));
    ArgPath {
        arg: arg.to_owned(),
        path: (!text.contains('\0')).then(|| path(&resolved)),
    }
}

/// A published policy is refused with file, line and column.
#[track_caller]
fn refused(file: &str, text: &str) -> String {
    let source = PolicySource {
        layer: Layer::User,
        file: file.to_owned(),
        text: text.to_owned(),
    };
    let problems = PolicySet::parse(&[source]).unwrap_err();
    let fatal: Vec<_> = problems
        .iter()
        .filter(|problem| problem.fatal)
        .map(ToString::to_string)
        .collect();
    assert!(!fatal.is_empty());
    fatal.join("\n")
}

/// POL-01: a forbid with a type error is refused at load, also with an id and known actions.
#[test]
fn pol_01_type_error() {
    refused("POL-01.cedar", include_str!("../cases/POL-01.cedar"));
    let same_slip = r#"@id("no-danger") @reason("r")
forbid (principal, action == Action::"exec.run", resource)
when { resource.name in ["rm", "dd", "mkfs"] };"#;
    let said = refused("danger.cedar", same_slip);
    assert!(
        said.starts_with("danger.cedar:3:8: user/danger/no-danger: "),
        "{said}"
    );
}

/// POL-03: "below the project" is asked of the resolved path.
#[test]
fn pol_03_dot_star() {
    refused("POL-03.cedar", include_str!("../cases/POL-03.cedar"));
    let policies = user(
        r#"@id("write") @reason("r")
        permit (principal, action == Action::"tool.call", resource)
        when { context.every_path in Path::"." && context.every_path in Place::"project" };"#,
    );
    for case in lines(include_str!("../cases/POL-03.requests.jsonl")) {
        let text = case["context"]["path"].as_str().unwrap();
        let mut asking = call();
        asking.call().arguments["path"] = text.into();
        asking.call().paths = vec![resolve("path", text)];
        let got = asking.outcome(&policies);
        if case["want"] == "allow" {
            assert_eq!(got, Allow, "{text:?}");
        } else {
            assert_ne!(got, Allow, "{text:?}");
        }
    }
}

/// POL-04: one folder is one folder, and `.ENV` is `.env`.
#[test]
fn pol_04_star_and_case() {
    refused("POL-04.cedar", include_str!("../cases/POL-04.cedar"));
    let policies = user(
        r#"@id("docs") @reason("r")
        permit (principal, action == Action::"sandbox.read", resource == Path::"/w/a/docs");
        @id("env") @reason("r")
        forbid (principal, action == Action::"sandbox.read", resource in Place::"secrets");
        @id("rest") @reason("r")
        permit (principal, action == Action::"sandbox.read", resource in Path::"/w/free");"#,
    );
    for case in lines(include_str!("../cases/POL-04.requests.jsonl")) {
        let text = case["context"]["path"].as_str().unwrap();
        let got = wish(Wish::Read(path(text))).outcome(&policies);
        match case["want"].as_str().unwrap() {
            "allow" => assert_eq!(got, Allow, "{text}"),
            // Environment files of every name are credentials here.
            "as written: allow" => assert_eq!(got, Deny, "{text}"),
            _ => assert_ne!(got, Allow, "{text}"),
        }
    }
}

/// POL-05: broken is refused with its place, empty is the documented default.
#[test]
fn pol_05_broken_files() {
    let syntax = refused(
        "10-deny.cedar",
        include_str!("../cases/POL-05.dirs/syntax/10-deny.cedar"),
    );
    assert!(
        syntax.starts_with("10-deny.cedar:2:8: cannot be read: "),
        "{syntax}"
    );
    let schema = refused(
        "10.cedar",
        include_str!("../cases/POL-05.dirs/schema/10.cedar"),
    );
    assert!(schema.starts_with("10.cedar:1:1: "), "{schema}");
    let extension = refused(
        "10.cedar.txt",
        include_str!("../cases/POL-05.dirs/extension/10.cedar.txt"),
    );
    assert!(extension.contains("ends in .cedar"), "{extension}");
    // The byte-order mark is no reason to refuse; the missing id is.
    let mark = refused(
        "10.cedar",
        include_str!("../cases/POL-05.dirs/bom/10.cedar"),
    );
    assert!(
        mark.starts_with("10.cedar:1:1: a policy has no @id"),
        "{mark}"
    );
    let named = "\u{feff}@id(\"x\") @reason(\"r\")\r\nforbid (principal, action == Action::\"tool.call\", resource);\r\n";
    assert_eq!(call().outcome(&user(named)), Deny);
    let empty = user(include_str!("../cases/POL-05.dirs/empty/10.cedar"));
    assert_eq!(empty.digest(), PolicySet::builtin().digest());
    assert_eq!(call().outcome(&empty), Ask(Answer::Remembered));
}

fn network(host: HostName) -> Asking {
    wish(Wish::Network(NetworkWish::Host { host, port: 443 }))
}

/// POL-07: "not this host" also holds for what is no host at all, and a misspelt name is refused.
#[test]
fn pol_07_absent_is_not_equal() {
    refused("POL-07.cedar", include_str!("../cases/POL-07.cedar"));
    let policies = user(
        r#"@id("all") @reason("r") permit (principal, action == Action::"sandbox.network", resource);
        @id("one-host") @reason("r") forbid (principal, action == Action::"sandbox.network", resource)
        unless { resource == Host::"api.example.test" };"#,
    );
    for case in lines(include_str!("../cases/POL-07.requests.jsonl")) {
        let host = case["context"]["host"]
            .as_str()
            .and_then(|host| host.parse().ok());
        // What is no host can only be asked for as the whole network.
        let asking = host.map_or_else(|| wish(Wish::Network(NetworkWish::Whole)), network);
        let want = if case["want"] == "allow" { Allow } else { Deny };
        assert_eq!(asking.outcome(&policies), want, "{case}");
    }
}

/// POL-10: addresses are parsed and unmapped before they are judged; no request makes a rule fail.
#[test]
fn pol_10_addresses() {
    refused("POL-10.cedar", include_str!("../cases/POL-10.cedar"));
    let policies = user(
        r#"@id("all") @reason("r") permit (principal, action == Action::"sandbox.network", resource);
        @id("inside") @reason("r") forbid (principal, action == Action::"sandbox.network", resource is Host)
        when { resource.name == "localhost" || resource in Domain::"localhost" ||
          [IpClass::"loopback", IpClass::"link-local", IpClass::"private"].contains(resource.ip_class) };"#,
    );
    for case in lines(include_str!("../cases/POL-10.requests.jsonl")) {
        let text = case["context"]["addr"].as_str().unwrap();
        let got = text.parse().map(|host| network(host).outcome(&policies));
        match case["want"].as_str().unwrap() {
            "allow" => assert_eq!(got, Ok(Allow), "{text}"),
            // What cannot be a host never becomes a request.
            _ => assert!(matches!(got, Ok(Deny) | Err(_)), "{text}: {got:?}"),
        }
    }
}

/// SEC-03: a rule names server and tool, and does not follow the name to another server.
#[test]
fn sec_03_name_is_not_the_thing() {
    let said = refused(
        "SEC-03.policy.cedar",
        include_str!("../cases/SEC-03.policy.cedar"),
    );
    assert!(said.contains("no @id"), "{said}");
    let bare = r#"@id("x") permit (principal, action == Action::"tool.call", resource == Tool::"notes/read_note");"#;
    let said = refused("bare.cedar", bare);
    assert!(said.contains("names begin with their source"), "{said}");
    let policies = user(&bare.replace("notes/", "user/notes/"));
    let called = |source: Source, server: &str| {
        let mut asking = call();
        asking.call().tool.name = "read_note".to_owned();
        asking.server().id = creance::ServerId::new(source, server);
        asking.outcome(&policies)
    };
    assert_eq!(called(Source::User, "notes"), Allow);
    assert_eq!(called(Source::User, "helper"), Ask(Answer::Remembered));
    assert_eq!(called(Source::Project, "notes"), Ask(Answer::Remembered));
}

/// SEC-08: arguments of a git server, judged where they lead and by how they begin.
#[test]
fn sec_08_paths_and_dashes() {
    let policies = user(
        r#"@id("git") @reason("r")
        permit (principal, action == Action::"tool.call", resource in Server::"user/git");
        @id("inside") @reason("Git works inside the repository.")
        forbid (principal, action == Action::"tool.call", resource in Server::"user/git")
        unless { context.every_path in Path::"./repo" && context.option_like_args.isEmpty() };"#,
    );
    for case in lines(include_str!("../cases/SEC-08.calls.jsonl")) {
        let mut asking = call();
        asking.server().id.name = "git".to_owned();
        asking.call().tool.name = case["name"].as_str().unwrap().to_owned();
        asking.call().paths.clear();
        asking.call().arguments = case["arguments"].clone();
        let repository = case["arguments"]["repo_path"].as_str().unwrap();
        let repository = repository
            .replace("ROOT", "/w/p")
            .replace("HOME", &places().home);
        let mut texts = vec![("repo_path".to_owned(), repository.clone())];
        let files = case["arguments"]["files"].as_array().into_iter().flatten();
        for (at, file) in files.enumerate() {
            let file = file.as_str().unwrap();
            let text = if file.starts_with('/') {
                file.to_owned()
            } else {
                format!("{repository}/{file}")
            };
            texts.push((format!("files.{at}"), text));
        }
        asking.call().paths = texts.iter().map(|(arg, text)| resolve(arg, text)).collect();
        for (name, value) in case["arguments"].as_object().unwrap() {
            if value.as_str().is_some_and(|text| text.starts_with('-')) {
                asking.call().option_like.push(name.clone());
            }
        }
        let want = if case["want"] == "allow" { Allow } else { Deny };
        assert_eq!(asking.outcome(&policies), want, "{case}");
    }
}
