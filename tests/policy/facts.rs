//! For each fact of the schema a request in which that fact alone turns a decision.

use std::collections::BTreeSet;

use creance::{
    AuthKind, Confinement, EnvFacts, Guarantee, Network, NetworkWish, Pin, PolicyOutcome, Risk,
    RunnerKind, Scheme, ServerId, Source, Transport, Trigger, Wish,
};

use crate::asks;
use crate::base::{
    Asking, Owned, arg_path, call, connect, env, exec, lost_path, path, prompt, remote, resource,
    start, tools, user, weakened, wish,
};

/// A fact of the schema, a condition on it, and two requests that differ in that fact.
pub(crate) struct Flip {
    /// `action.context-attribute` or `Entity.attribute`.
    fact: String,
    /// `action`
    action: &'static str,
    /// A forbid's condition: false for the first request, true for the second.
    when: String,
    before: Asking,
    after: Asking,
}

pub(crate) fn flip(
    fact: &str,
    action: &'static str,
    when: impl Into<String>,
    before: Asking,
    change: impl FnOnce(&mut Asking),
) -> Flip {
    let mut after = before.clone();
    change(&mut after);
    Flip {
        fact: fact.to_owned(),
        action,
        when: when.into(),
        before,
        after,
    }
}

fn network(host: &str, port: u16) -> Asking {
    let host = host.parse().unwrap();
    wish(Wish::Network(NetworkWish::Host { host, port }))
}

#[rustfmt::skip]
fn who() -> Vec<Flip> {
    let on =
        |fact, when: &str, change: fn(&mut Asking)| flip(fact, "tool.call", when, call(), change);
    vec![
        on("Agent.name", r#"principal.name == "x""#, |a| { a.agent.name = "x".into() }),
        on("Agent.client", r#"principal.client == "x""#, |a| { a.agent.client = "x".into() }),
        on("Agent.client_verified", "principal.client_verified", |a| a.agent.client_verified = true),
        on("Agent.depth", "principal.depth > 0", |a| a.agent.depth = 1),
        on("User", r#"principal in User::"x""#, |a| { a.agent.user = "x".into() }),
        on("Group", r#"principal in Group::"sre""#, |a| { a.agent.groups.push("sre".into()) }),
        on("Server.name", r#"resource.server.name == "x""#, |a| { a.server().id.name = "x".into() }),
        on("Server.source", r#"resource.server.source == Source::"org""#, |a| a.server().id.source = Source::Org),
        on("Source", r#"resource in Source::"org""#, |a| { a.server().id.source = Source::Org }),
        on("Server.transport", r#"resource.server.transport == Transport::"http""#, |a| a.server().transport = Transport::Http),
        on("Server.pin", r#"resource.server.pin == Pin::"unpinned""#, |a| a.server().pin = Pin::Unpinned),
        on("Server.tools_pin", r#"resource.server.tools_pin == Pin::"unpinned""#, |a| a.server().tools_pin = Pin::Unpinned),
        on("Server.sandboxed", "!resource.server.sandboxed", |a| { a.server().sandboxed = false }),
        on("Tool.server", r#"resource.server == Server::"user/x""#, |a| a.server().id = ServerId::new(Source::User, "x")),
        on("Tool.name", r#"resource.name == "x""#, |a| { a.call().tool.name = "x".into() }),
        on("Tool.claims_read_only", "resource.claims_read_only", |a| a.call().tool.claims.read_only = true),
        on("Tool.claims_destructive", "resource.claims_destructive", |a| a.call().tool.claims.destructive = true),
        on("Tool.claims_idempotent", "resource.claims_idempotent", |a| a.call().tool.claims.idempotent = true),
        on("Tool.claims_open_world", "resource.claims_open_world", |a| a.call().tool.claims.open_world = true),
    ]
}

#[rustfmt::skip]
fn circumstances() -> Vec<Flip> {
    let on =
        |fact, when: &str, change: fn(&mut Asking)| flip(fact, "tool.call", when, call(), change);
    let late = r#"context.run.now > datetime("2030-01-01")"#;
    vec![
        on("Run.now", late, |a| a.run.now_ms = 2_000_000_000_000),
        on("Run.project", r#"context.run.project == Project::"/w/q""#, |a| a.run.project.id = "/w/q".into()),
        on("Project.trusted", "!context.run.project.trusted", |a| { a.run.project.trusted = false }),
        on("Run.trigger", r#"context.run.trigger == Trigger::"schedule""#, |a| a.run.trigger = Trigger::Schedule),
        on("Run.attended", "!context.run.attended", |a| { a.run.attended = false }),
        on("Run.dry_run", "context.run.dry_run", |a| { a.run.dry_run = true }),
    ]
}

#[rustfmt::skip]
fn calls() -> Vec<Flip> {
    let on =
        |fact, when: &str, change: fn(&mut Asking)| flip(fact, "tool.call", when, call(), change);
    vec![
        on("tool.call.args", r#"context.args.hasTag("b") && context.args.getTag("b") == "x""#, |a| a.call().arguments["b"] = "x".into()),
        on("tool.call.numbers", r#"context.numbers.hasTag("head") && context.numbers.getTag("head") > 99"#, |a| a.call().arguments["head"] = 100.into()),
        on("tool.call.arg_names", r#"context.arg_names.contains("b")"#, |a| a.call().arguments["b"] = 1.into()),
        on("tool.call.args_json", r#"context.args_json like "*zzz*""#, |a| a.call().arguments["b"] = "zzz".into()),
        on("tool.call.args_bytes", "context.args_bytes > 1000", |a| { a.call().arguments_bytes = 1001 }),
        on("tool.call.args_complete", "!context.args_complete", |a| { a.call().arguments["b"] = vec![1; 600].into(); }),
        on("tool.call.args_valid", "!context.args_valid", |a| { a.call().valid = false }),
        on("tool.call.secrets_in_args", "context.secrets_in_args", |a| a.call().secrets = true),
        on("tool.call.option_like_args", "!context.option_like_args.isEmpty()", |a| a.call().option_like.push("path".into())),
        on("tool.call.every_path", r#"!(context.every_path in Path::"./docs")"#, |a| a.call().paths.push(arg_path("to", "src/a.md"))),
        on("tool.call.some_path", r#"context.some_path in Path::"./src""#, |a| a.call().paths.push(arg_path("to", "src/a.md"))),
        on("Paths.count", "context.every_path.count > 1", |a| a.call().paths.push(arg_path("to", "docs/b.md"))),
        on("tool.call.arg_paths", r#"context.arg_paths.hasTag("to") && context.arg_paths.getTag("to") in Path::"./src""#, |a| a.call().paths.push(arg_path("to", "src/a.md"))),
        on("tool.call.paths_resolved", "!context.paths_resolved", |a| a.call().paths.push(lost_path("to"))),
        on("tool.call.paths_outside_project", "context.paths_outside_project", |a| a.call().paths.push(arg_path("to", "/tmp/x"))),
        on("tool.call.calls_this_session", "context.calls_this_session > 9", |a| a.call().calls_this_session = 10),
    ]
}

#[rustfmt::skip]
fn resources_and_prompts() -> Vec<Flip> {
    let read = |fact, when: &str, change: fn(&mut Asking)| {
        flip(fact, "resource.read", when, resource(), change)
    };
    let uri = |a: &mut Asking| match &mut a.act {
        Owned::Read(read) => read.uri = "http://x/".into(),
        other => panic!("{other:?}"),
    };
    let get = |fact, when: &str, change: fn(&mut Asking)| {
        flip(fact, "prompt.get", when, prompt(), change)
    };
    fn asked(a: &mut Asking) -> &mut creance::GetPrompt {
        match &mut a.act {
            Owned::Prompt(get) => get,
            other => panic!("{other:?}"),
        }
    }
    vec![
        read("McpResource.uri", r#"resource.uri == "http://x/""#, uri),
        read("McpResource.scheme", r#"resource.scheme == "http""#, uri),
        read("McpResource.server", "!resource.server.sandboxed", |a| { a.server().sandboxed = false }),
        get("Prompt.name", r#"resource.name == "x""#, |a| { asked(a).name = "x".into() }),
        get("Prompt.server", "!resource.server.sandboxed", |a| { a.server().sandboxed = false }),
        get("prompt.get.args", r#"context.args.hasTag("branch") && context.args.getTag("branch") == "x""#, |a| asked(a).arguments[0].1 = "x".into()),
        get("prompt.get.arg_names", r#"context.arg_names.contains("x")"#, |a| asked(a).arguments[0].0 = "x".into()),
    ]
}

#[rustfmt::skip]
fn starts() -> Vec<Flip> {
    let on = |fact, when: &str, change: fn(&mut Asking)| {
        flip(fact, "server.start", when, start(), change)
    };
    vec![
        on("server.start.program", r#"context.program == Program::"/x""#, |a| a.start().program.path = "/x".into()),
        on("Program.name", r#"context.program.name == "x""#, |a| { a.start().program.name = "x".into() }),
        on("Program.path", r#"context.program.path == "/x""#, |a| { a.start().program.path = "/x".into() }),
        on("Program.pin", r#"context.program.pin == Pin::"unpinned""#, |a| a.start().program.pin = Pin::Unpinned),
        on("server.start.artefact_pinned", "!context.artefact_pinned", |a| a.start().artefact = None),
        on("server.start.runner", r#"context.runner == Runner::"uvx""#, |a| a.start().runner = RunnerKind::Uvx),
        on("server.start.package", r#"context.package == "x""#, |a| { a.start().package.0 = "x".into() }),
        on("server.start.package_version", r#"context.package_version == """#, |a| a.start().package.1 = String::new()),
        on("server.start.command_line", r#"context.command_line like "npx * --x""#, |a| a.start().launch.args.push("--x".into())),
        on("server.start.args", r#"context.args.contains("--x")"#, |a| a.start().launch.args.push("--x".into())),
        on("server.start.cwd", r#"context.cwd == "/x""#, |a| { a.start().launch.cwd = "/x".into() }),
        on("server.start.env_names", r#"context.env_names.contains("X")"#, |a| { a.start().grant.env.0.insert("X".into(), "1".into()); }),
        on("server.start.secret_names", r#"context.secret_names.contains("TOKEN")"#, |a| a.start().secret_names.push("TOKEN".into())),
        on("server.start.network", r#"context.network == Network::"whole""#, |a| a.start().grant.network = Network::Whole),
        on("server.start.network (hosts)", r#"context.network == Network::"hosts""#, |a| a.start().grant.network = Network::Hosts),
        on("server.start.reads_outside_project", "context.reads_outside_project", |a| a.start().wishes.push(Wish::Read(path("/srv/x")))),
        on("server.start.writes_outside_project", "context.writes_outside_project", |a| a.start().wishes.push(Wish::Write(path("/srv/x")))),
        on("server.start.wants_sockets", "context.wants_sockets", |a| a.start().wishes.push(Wish::Socket(path("/run/x")))),
        on("server.start.first_time", "context.first_time", |a| { a.start().first_time = true }),
        on("server.start.config_changed", "context.config_changed", |a| a.start().config_changed = true),
        on("server.start.risk", r#"context.risk.contains(Risk::"inline-code")"#, |a| a.start().risks.push(Risk::InlineCode)),
        on("server.start.confinement", r#"context.confinement.limits == Level::"weakened""#, |a| a.start().confinement = weakened(Guarantee::Limits)),
        on("Confinement.backend", r#"context.confinement.backend == "x""#, |a| a.start().confinement.backend = "x".into()),
    ]
}

#[rustfmt::skip]
fn commands() -> Vec<Flip> {
    let on =
        |fact, when: &str, change: fn(&mut Asking)| flip(fact, "exec.run", when, exec(), change);
    vec![
        on("exec.run.command_line", r#"context.command_line == "git status -s""#, |a| a.exec().launch.args.push("-s".into())),
        on("exec.run.args", r#"context.args.contains("-s")"#, |a| { a.exec().launch.args.push("-s".into()) }),
        on("exec.run.cwd", r#"context.cwd == "/x""#, |a| { a.exec().launch.cwd = "/x".into() }),
        on("exec.run.env_names", r#"context.env_names.contains("X")"#, |a| { a.exec().grant.env.0.insert("X".into(), "1".into()); }),
        on("exec.run.network", r#"context.network == Network::"whole""#, |a| a.exec().wishes.push(Wish::Network(NetworkWish::Whole))),
        on("exec.run.reads_outside_project", "context.reads_outside_project", |a| a.exec().wishes.push(Wish::Read(path("/srv/x")))),
        on("exec.run.writes_outside_project", "context.writes_outside_project", |a| a.exec().wishes.push(Wish::Write(path("/srv/x")))),
        on("exec.run.wants_sockets", "context.wants_sockets", |a| a.exec().grant.sockets.push("/run/x".into())),
        on("exec.run.risk", r#"context.risk.contains(Risk::"network")"#, |a| a.exec().risks.push(Risk::Network)),
        on("exec.run.confinement", r#"context.confinement.limits == Level::"absent""#, |a| { a.exec().confinement.levels.remove(&Guarantee::Limits); }),
    ]
}

/// Each guarantee reaches both kinds of start.
fn guarantees() -> Vec<Flip> {
    Guarantee::ALL
        .into_iter()
        .flat_map(|guarantee| {
            let field = guarantee.name().replace('-', "_");
            let when = format!(r#"context.confinement.{field} == Level::"weakened""#);
            let fact = format!("Confinement.{field}");
            let confinement: Confinement = weakened(guarantee);
            let other = confinement.clone();
            let open = |mut asking: Asking| {
                asking.run.attended = true;
                asking
            };
            [
                flip(&fact, "server.start", when.clone(), open(start()), |a| {
                    a.start().confinement = confinement;
                }),
                flip(&fact, "exec.run", when, open(exec()), |a| {
                    a.exec().confinement = other
                }),
            ]
        })
        .collect()
}

#[rustfmt::skip]
fn wishes() -> Vec<Flip> {
    let read = |text: &str| wish(Wish::Read(path(text)));
    let to = |text: &'static str| move |a: &mut Asking| a.act = Owned::Wish(Wish::Read(path(text)));
    let host = |a: &mut Asking| *a = network("10.0.0.1", 443);
    vec![
        flip("Path.text", "sandbox.read", r#"resource.text == "/w/p/x""#, read("a"), to("x")),
        flip("Path", "sandbox.read", r#"resource in Path::"/w/p/docs""#, read("a"), to("docs/a")),
        flip("Path", "sandbox.read", r#"resource in Path::"./docs""#, read("a"), to("docs/a")),
        flip("Place", "sandbox.read", r#"resource in Place::"temp""#, read("a"), to("/tmp/a")),
        flip("Path.name", "sandbox.read", r#"resource.name == "x.rs""#, read("a"), to("b/x.rs")),
        flip("Path.ext", "sandbox.read", r#"resource.ext == "rs""#, read("a"), to("x.RS")),
        flip("Path.hidden", "sandbox.read", "resource.hidden", read("a"), to(".a")),
        flip("Path.in_project", "sandbox.read", "!resource.in_project", read("a"), to("/usr/a")),
        flip("EnvVar.name", "sandbox.env", r#"resource.name == "X""#, env("LANG"), |a| *a = env("X")),
        flip("EnvVar.looks_secret", "sandbox.env", "resource.looks_secret", env("LANG"), |a| { a.act = Owned::Wish(Wish::Env(EnvFacts { name: "LANG".into(), looks_secret: true, })); }),
        flip("sandbox.network.port", "sandbox.network", "context.port == 80", network("a.b", 443), |a| *a = network("a.b", 80)),
        flip("sandbox.network.listed", "sandbox.network", "!context.listed", network("a.b", 443), |a| *a = connect("a.b")),
        flip("Host.name", "sandbox.network", r#"resource is Host && resource.name == "10.0.0.1""#, network("a.b", 443), host),
        flip("Host.literal_ip", "sandbox.network", "resource is Host && resource.literal_ip", network("a.b", 443), host),
        flip("Host.ip_class", "sandbox.network", r#"resource is Host && resource.ip_class == IpClass::"private""#, network("a.b", 443), host),
        flip("Domain", "sandbox.network", r#"resource in Domain::"b""#, network("a.c", 443), |a| *a = network("a.b", 443)),
    ]
}

#[rustfmt::skip]
fn tool_lists() -> Vec<Flip> {
    let mut first = tools();
    first.tools().first_time = true;
    let on = |fact, when: &str, change: fn(&mut Asking)| {
        flip(fact, "server.tools", when, tools(), change)
    };
    vec![
        on("server.tools.first_time", "context.first_time", |a| { a.tools().first_time = true }),
        on("server.tools.added", r#"context.added.contains("x")"#, |a| a.tools().added.push("x".into())),
        on("server.tools.removed", r#"context.removed.contains("x")"#, |a| a.tools().removed.push("x".into())),
        on("server.tools.changed", r#"context.changed.contains("x")"#, |a| a.tools().changed.push("x".into())),
        on("server.tools.flags", r#"context.flags.contains("hidden-text")"#, |a| a.tools().flags.push("hidden-text".into())),
    ]
}

#[rustfmt::skip]
fn remote_servers() -> Vec<Flip> {
    let on = |fact, when: &str, change: fn(&mut Asking)| {
        flip(fact, "server.connect", when, remote(), change)
    };
    vec![
        on("server.connect.host", r#"context.host == Host::"other.example""#, |a| a.remote().host = "other.example".parse().unwrap()),
        on("server.connect.host", r#"context.host in Domain::"example""#, |a| a.remote().host = "other.example".parse().unwrap()),
        on("server.connect.scheme", r#"context.scheme == Scheme::"http""#, |a| { a.remote().addresses = vec!["127.0.0.1".parse().unwrap()]; a.remote().scheme = Scheme::Http }),
        on("server.connect.port", "context.port == 8443", |a| a.remote().port = 8443),
        on("server.connect.ip", r#"context.ip.isInRange(ip("9.9.9.0/24"))"#, |a| a.remote().addresses = vec!["9.9.9.9".parse().unwrap()]),
        on("server.connect.ip_class", r#"context.ip_class == IpClass::"private""#, |a| a.remote().addresses = vec!["10.0.0.1".parse().unwrap()]),
        on("server.connect.auth", r#"context.auth == AuthKind::"header""#, |a| a.remote().auth = AuthKind::Header),
        on("server.connect.auth", r#"context.auth == AuthKind::"oauth""#, |a| a.remote().auth = AuthKind::Oauth),
        on("server.connect.first_time", "context.first_time", |a| a.remote().first_time = true),
    ]
}

fn all() -> Vec<Flip> {
    [
        who(),
        circumstances(),
        calls(),
        resources_and_prompts(),
        starts(),
        commands(),
        guarantees(),
        wishes(),
        tool_lists(),
        asks::sign_ins(),
        remote_servers(),
        asks::flips(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn each_fact_alone_turns_a_decision() {
    for Flip {
        fact,
        action,
        when,
        before,
        after,
    } in all()
    {
        let base = format!(
            r#"@id("all") @reason("r") permit (principal, action == Action::"{action}", resource);"#
        );
        let rule = format!(
            r#"@id("fact") @reason("r") forbid (principal, action == Action::"{action}", resource) when {{ {when} }};"#
        );
        let policies = user(&format!("{base}\n{rule}"));
        assert_eq!(
            before.outcome(&policies),
            PolicyOutcome::Allow,
            "{fact}: before, {when}"
        );
        let verdict = policies.evaluate_all(&[after.query()], creance::Answer::None);
        assert_eq!(
            verdict.outcome,
            PolicyOutcome::Deny,
            "{fact}: after, {when}"
        );
        let ids: Vec<_> = verdict.because.iter().map(|b| b.policy.as_str()).collect();
        // Without it a guard rail forbids too, whatever the rest is.
        let rail = "builtin/guardrails/open-sign-in";
        let ids: Vec<_> = match fact.as_str() {
            "oauth.sign_in.pkce" => ids.into_iter().filter(|id| *id != rail).collect(),
            _ => ids,
        };
        assert_eq!(ids, ["user/test/fact"], "{fact}: {when}");
    }
}

/// Actions and entities of features to come: nothing asks for them, and `told.rs` has their facts.
pub(crate) const TO_COME: &[&str] = &[
    "DevTool",
    "Plugin",
    "SearchProvider",
    "Secret",
    "formatter.start",
    "fs.read",
    "fs.write",
    "lsp.start",
    "model.ask",
    "plugin.load",
    "sandbox.secret",
    "web.fetch",
    "web.search",
];

/// No fact of the schema is without its test.
#[test]
fn each_fact_of_the_schema_has_a_flip() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../schemas/creance.cedarschema.json")).unwrap();
    let tested = all().into_iter().map(|flip| flip.fact);
    let tested: BTreeSet<String> = tested.chain(asks::guarded()).collect();
    let schema = &schema[""];
    let mut wanted = BTreeSet::new();
    let mut want = |owner: &str, shape: &serde_json::Value| {
        let names = shape["attributes"].as_object().into_iter().flatten();
        wanted.extend(names.map(|(name, _)| format!("{owner}.{name}")));
    };
    let here = |name: &String| !TO_COME.contains(&name.as_str());
    for (name, kind) in schema["entityTypes"].as_object().unwrap() {
        if here(name) {
            want(name, &kind["shape"]);
        }
    }
    for (name, kind) in schema["commonTypes"].as_object().unwrap() {
        want(name, kind);
    }
    for (name, action) in schema["actions"].as_object().unwrap() {
        if here(name) {
            want(name, &action["appliesTo"]["context"]);
        }
    }
    let common = |fact: &String| {
        ["approved", "approved_this_session", "approved_now", "run"]
            .iter()
            .any(|name| fact.ends_with(&format!(".{name}")))
    };
    let missing: Vec<_> = wanted.difference(&tested).filter(|f| !common(f)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
