//! Proofs with Debian's cvc5: what is claimed of every store is proved of the shipped ones, and each
//! planted loosening is refuted with a request that shows it.

use std::time::Duration;

use creance::{
    Counterexample, Invariants, Layer, PolicyFiles, PolicySet, PolicySource, PolicyTest, Posture,
    Proof, Proved, Solver, StoreParts,
};
use serde_json::{Value, json};

/// The solver, or `None` after saying why the test is skipped.
#[track_caller]
fn solver(test: &str) -> Option<Solver> {
    match Solver::find(None, Duration::from_secs(60)) {
        Ok(solver) => Some(solver),
        Err(why) => {
            let required = std::env::var("CREANCE_REQUIRE_REAL").is_ok_and(|v| v == "1");
            assert!(
                !required,
                "{test} may not be skipped (CREANCE_REQUIRE_REAL=1): {why}"
            );
            println!("skipped: {test}: {why}");
            None
        }
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(future)
}

fn prove(solver: &Solver, store: &PolicySet, invariants: &Invariants) -> Vec<Proof> {
    wait(solver.prove(store, invariants, |_| {})).unwrap()
}

fn source(layer: Layer, text: &str) -> PolicySource {
    PolicySource {
        layer,
        file: "planted.cedar".to_owned(),
        text: text.to_owned(),
    }
}

fn store(parts: &StoreParts) -> PolicySet {
    PolicySet::build(parts).unwrap().0
}

/// The built-in policies with these beside them.
fn beside(layer: Layer, text: &str) -> PolicySet {
    store(&StoreParts {
        sources: vec![source(layer, text)],
        ..StoreParts::default()
    })
}

/// What is claimed, by name, and all that is not proved.
fn open(proofs: &[Proof]) -> Vec<String> {
    let open = proofs.iter().filter(|proof| proof.result != Proved::Proved);
    open.map(|proof| format!("{proof:?}")).collect()
}

/// The words of the only request that refutes a claim, and what should come of it.
#[track_caller]
fn refuted<'a>(proofs: &'a [Proof], name: &str) -> &'a Counterexample {
    let proof = proofs.iter().find(|proof| proof.name == name);
    let proof = proof.unwrap_or_else(|| panic!("no claim {name}"));
    assert_eq!(proof.result, Proved::Refuted, "{proof:?}");
    &proof.examples[0]
}

/// A test that was found: it fails under this store.
#[track_caller]
fn fails(test: &Value, store: &PolicySet) {
    let file = PolicySource {
        layer: Layer::User,
        file: "found.json".to_owned(),
        text: json!([test]).to_string(),
    };
    let tests = PolicyTest::read(&file).unwrap();
    let report = store.test(&tests, &[]);
    assert_eq!(report.failed().count(), 1, "{test}");
}

/// The claims hold of the built-in policies, and of the organisation's bundle with a user's and a
/// project's policies on top.
#[test]
fn shipped_stores_are_proved() {
    let Some(solver) = solver("shipped_stores_are_proved") else {
        return;
    };
    let invariants = Invariants::shipped().unwrap();
    let proofs = prove(&solver, &PolicySet::builtin(), &invariants);
    assert_eq!(open(&proofs), [""; 0]);
    let names: Vec<&str> = proofs.iter().map(|proof| proof.name.as_str()).collect();
    for name in [
        "guard-rails",
        "project-tightens",
        "answers-add",
        "invariant/secrets",
        "invariant/sign-in",
        "invariant/plugins",
        "invariant/starts",
        "no-errors",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    // Each kind of request of the schema was asked about, for each claim.
    assert!(
        proofs.iter().all(|proof| proof.questions > 40),
        "{proofs:?}"
    );

    let folder = tempfile::tempdir().unwrap();
    Posture::Organisation.write_to(folder.path()).unwrap();
    let mut parts = PolicyFiles::of(folder.path()).unwrap().parts;
    for (layer, name) in [(Layer::User, "user"), (Layer::Project, "project")] {
        let file = format!("policies/examples/{name}.cedar");
        let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        parts.sources.push(PolicySource { layer, file, text });
    }
    let mut proofs = prove(&solver, &store(&parts), &invariants);
    // What the organisation means to permit, and nothing else.
    let example = refuted(&proofs, "invariant/starts");
    assert_eq!(example.by, ["org/permits/catalogue-start"]);
    proofs.retain(|proof| proof.name != "invariant/starts");
    assert_eq!(open(&proofs), [""; 0]);
}

/// Each loosening is refuted by the shortest request that shows it, as a test that fails now.
#[test]
fn planted_loosenings_are_refuted() {
    let Some(solver) = solver("planted_loosenings_are_refuted") else {
        return;
    };
    let planted = [
        (
            "plugin",
            "permit (principal, action == Action::\"plugin.load\", resource);",
            "invariant/plugins",
            json!({"action": "plugin.load"}),
        ),
        (
            "start",
            "permit (principal, action == Action::\"server.start\", resource == Server::\"user/github\");",
            "invariant/starts",
            json!({"action": "server.start", "server": {"name": "user/github"}}),
        ),
        (
            "deploy",
            "permit (principal is Agent in Group::\"ops\", action == Action::\"exec.run\", resource) when { context.args.contains(\"deploy\") };",
            "invariant/commands",
            json!({"action": "exec.run", "groups": ["ops"], "args": ["deploy"]}),
        ),
        (
            "sum",
            "permit (principal, action == Action::\"model.ask\", resource) when { context.cost_micros + context.spent_today_micros < 1000 };",
            "no-errors",
            json!({"action": "model.ask"}),
        ),
    ];
    let texts = planted
        .iter()
        .map(|(id, text, _, _)| format!("@id(\"{id}\") @reason(\"r\") {text}\n"));
    let store = beside(Layer::User, &texts.collect::<String>());
    let proofs = prove(&solver, &store, &Invariants::shipped().unwrap());
    let mut touched = vec!["invariant/changed-server"];
    for (id, _, claim, want) in &planted {
        let example = refuted(&proofs, claim);
        let test = example
            .test
            .as_ref()
            .unwrap_or_else(|| panic!("not told: {example:?}"));
        assert_eq!(example.by, [format!("user/planted/{id}")], "{example:?}");
        if *claim == "no-errors" {
            assert_eq!(test["do"]["action"], want["action"], "{example:?}");
        } else {
            assert_eq!(test["do"], *want, "{example:?}");
            assert_eq!(test["expect"], "ask:always", "{example:?}");
            fails(test, &store);
        }
        touched.push(claim);
    }
    let others: Vec<&Proof> = proofs
        .iter()
        .filter(|proof| !touched.contains(&proof.name.as_str()))
        .collect();
    assert!(
        others.len() > 5 && others.iter().all(|proof| proof.result == Proved::Proved),
        "{others:?}"
    );
}

/// A guard rail that is switched off is missed.
#[test]
fn a_lost_guard_rail_is_missed() {
    let Some(solver) = solver("a_lost_guard_rail_is_missed") else {
        return;
    };
    let store = store(&StoreParts {
        switched_off: vec!["builtin/guardrails/credential-files".to_owned()],
        ..StoreParts::default()
    });
    let proofs = prove(&solver, &store, &Invariants::shipped().unwrap());
    let example = refuted(&proofs, "invariant/credentials");
    let test = example.test.as_ref().unwrap();
    assert_eq!(test["do"]["by"], "server", "{test}");
    assert_eq!(test["do"]["path"], "~/.ssh/id_ed25519", "{test}");
    assert_eq!(test["expect"], "deny", "{test}");
    fails(test, &store);
}

/// People write invariants of their own, of both kinds.
#[test]
fn own_invariants() {
    let Some(solver) = solver("own_invariants") else {
        return;
    };
    let text = r#"
        @id("main") @reason("Nobody pushes to main.")
        forbid (principal, action == Action::"tool.call", resource)
        when { context.args.hasTag("branch") && context.args.getTag("branch") == "main" };
        @id("reads") @reason("Files of the project can always be read.")
        permit (principal is Agent, action == Action::"fs.read", resource in Place::"project");
    "#;
    let invariants = Invariants::read("ours.cedar", text).unwrap();
    let proofs = prove(&solver, &PolicySet::builtin(), &invariants);
    let example = refuted(&proofs, "invariant/main");
    let test = example
        .test
        .as_ref()
        .unwrap_or_else(|| panic!("not told: {example:?}"));
    assert_eq!(
        test["do"]["arguments"],
        json!({ "branch": "main" }),
        "{test}"
    );
    let reads = |proofs: &[Proof]| {
        let mut all = proofs.iter();
        all.find(|proof| proof.name == "invariant/reads")
            .unwrap()
            .result
    };
    assert_eq!(reads(&proofs), Proved::Proved);
    let stricter = beside(
        Layer::Project,
        "@id(\"p\") @reason(\"r\") forbid (principal, action == Action::\"fs.read\", resource in Path::\"./keys\");",
    );
    let proofs = prove(&solver, &stricter, &invariants);
    let example = refuted(&proofs, "invariant/reads");
    let test = example
        .test
        .as_ref()
        .unwrap_or_else(|| panic!("not told: {example:?}"));
    assert!(
        test["do"]["path"].as_str().unwrap().starts_with("./keys"),
        "{test}"
    );
    assert_eq!(test["expect"], "deny");
}

/// A file of invariants is checked as strictly as one of policies, and holds something.
#[test]
fn invariants_are_checked() {
    for (text, part) in [
        ("", "nothing to prove"),
        ("forbid (principal, action, resource);", "no @id"),
        (
            "@id(\"a\") forbid (principal, action == Action::\"plugin.laod\", resource);",
            "applicable action",
        ),
    ] {
        let problems = Invariants::read("ours.cedar", text).unwrap_err();
        let said = problems
            .iter()
            .find(|problem| problem.fatal)
            .unwrap()
            .to_string();
        assert!(
            said.contains(part) && said.starts_with("ours.cedar"),
            "{said}"
        );
    }
}

/// Two bundles: the stricter one allows less, and the request that shows it is decided by name.
#[test]
fn two_stores_are_compared() {
    let Some(solver) = solver("two_stores_are_compared") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    Posture::Organisation.write_to(folder.path()).unwrap();
    let parts = PolicyFiles::of(folder.path()).unwrap().parts;
    let mut stricter = parts.clone();
    stricter.sources.push(source(
        Layer::Org,
        "@id(\"no-prompts\") @reason(\"r\") forbid (principal, action == Action::\"prompt.get\", resource) unless { context.approved_now };",
    ));
    let mut parts = parts;
    parts.sources.push(source(
        Layer::Org,
        "@id(\"deploys\") @reason(\"r\") permit (principal is Agent in Group::\"ops\", action == Action::\"tool.call\", resource in Server::\"org/github\") when { context.args.hasTag(\"env\") && context.args.getTag(\"env\") == \"staging\" };",
    ));
    let (loose, strict) = (store(&parts), store(&stricter));
    let proofs = wait(solver.compare((&loose, &strict), |_| {})).unwrap();
    assert_eq!(proofs[0].name, "allows-no-more");
    assert_eq!(proofs[0].result, Proved::Proved, "{proofs:?}");
    let example = refuted(&proofs, "allows-no-less");
    let test = example
        .test
        .as_ref()
        .unwrap_or_else(|| panic!("not told: {example:?}"));
    assert_eq!(test["do"]["action"], "prompt.get", "{test}");
    assert_eq!(test["expect"], "allow", "{test}");
    fails(test, &strict);

    let proofs = wait(solver.compare((&strict, &loose), |_| {})).unwrap();
    refuted(&proofs, "allows-no-more");
    let [prompt, call] = &proofs[0].examples[..] else {
        panic!("{proofs:?}");
    };
    assert_eq!(
        prompt.because,
        ["org/planted/no-prompts", "builtin/defaults/ask"],
        "{prompt:?}"
    );
    let told = call.test.as_ref().map(|test| &test["do"]);
    let want = json!({
        "action": "tool.call", "groups": ["ops"], "arguments": {"env": "staging"},
        "server": {"name": "org/github"},
    });
    assert_eq!(told, Some(&want), "{call:?}");
    let proofs = wait(solver.compare((&loose, &loose), |_| {})).unwrap();
    assert_eq!(open(&proofs), [""; 0]);
}

/// A solver that does not answer proves nothing, whatever else it does.
#[cfg(unix)]
#[test]
fn no_answer_is_no_proof() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    for (at, (script, part)) in [
        ("echo unknown", "gave up"),
        ("echo maybe", "maybe"),
        ("echo '(error \"out of memory\")'", "out of memory"),
        ("exit 0", "ended"),
        ("{ echo sat; exit; }", "ended"),
    ]
    .into_iter()
    .enumerate()
    {
        let program = folder.path().join(format!("solver-{at}"));
        // The first question is whether it is a solver at all.
        let question = "read -r line && [ \"$line\" = '(check-sat)' ] && ";
        let script = format!(
            "#!/bin/sh\n{question} echo sat\nwhile read -r line; do [ \"$line\" = '(check-sat)' ] && {script}; done\n"
        );
        std::fs::write(&program, &script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let solver = Solver::find(Some(&program), Duration::from_millis(100)).unwrap();
        let store = PolicySet::guard_rails();
        let (first, second) = (store, PolicySet::builtin());
        let proofs = wait(solver.compare((&first, &second), |_| {})).unwrap();
        let open: Vec<&Proof> = proofs
            .iter()
            .filter(|proof| proof.result == Proved::Unknown)
            .collect();
        assert!(!open.is_empty(), "{script}: {proofs:?}");
        assert!(
            proofs.iter().all(|proof| proof.result != Proved::Refuted),
            "{script}: {proofs:?}"
        );
        let why = open[0].unknown.join("\n");
        assert!(why.contains(part), "{script}: {why}");
    }
    let missing = Solver::find(Some(&folder.path().join("none")), Duration::from_secs(1));
    let why = missing.unwrap_err().to_string();
    assert!(why.contains("apt install cvc5"), "{why}");
}
