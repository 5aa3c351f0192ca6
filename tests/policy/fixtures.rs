//! Each shipped policy with a request that it lets pass and one that it does not let pass.

use std::collections::BTreeSet;

use creance::{
    Answer, EnvFacts, Guarantee, Layer, NetworkWish, Pin, PolicyOutcome, PolicySet, PolicySource,
    Risk, Role, Scheme, ServerId, Source, Trigger, Wish,
};

use crate::asked::sign_in;
use crate::base::{
    Asking, Owned, arg_path, call, connect, env, exec, lost_path, path, remote, resource, start,
    tools, user, weakened, wish,
};

use PolicyOutcome::{Allow, Ask, Deny};

/// One policy: for a permit a request that it allows and one out of its reach; for a forbid a
/// request that it leaves alone and one that it stops or puts to a person.
struct Fixture {
    id: &'static str,
    allow: (Asking, Answer),
    deny: (Asking, PolicyOutcome),
}

fn fixture(id: &'static str, allow: (Asking, Answer), deny: (Asking, PolicyOutcome)) -> Fixture {
    Fixture { id, allow, deny }
}

fn read(text: &str) -> Asking {
    wish(Wish::Read(path(text)))
}

fn write(text: &str) -> Asking {
    wish(Wish::Write(path(text)))
}

/// The same wish, by a command.
fn by_agent(mut asking: Asking) -> Asking {
    asking.by = None;
    asking
}

fn with(mut asking: Asking, change: impl FnOnce(&mut Asking)) -> Asking {
    change(&mut asking);
    asking
}

const NONE: Answer = Answer::None;
const ALWAYS: Answer = Answer::Remembered;
const ONCE: Answer = Answer::Once;

fn leads(asking: &mut Asking, to: &str) {
    asking.remote().addresses = vec![to.parse().unwrap()];
}

/// The remote server without TLS.
fn plain() -> Asking {
    with(remote(), |a| a.remote().scheme = Scheme::Http)
}

#[rustfmt::skip]
fn guard_rails() -> Vec<Fixture> {
    let host = |text: &str| {
        let host = text.parse().unwrap();
        wish(Wish::Network(NetworkWish::Host { host, port: 443 }))
    };
    let project = |a: &mut Asking| a.server().id.source = Source::Project;
    vec![
        fixture("credential-files", (read("src"), NONE), (read("/home/u/.ssh"), Deny)),
        fixture("credential-files-command", (by_agent(read("/home/u/.ssh")), ONCE), (by_agent(read("/home/u/.ssh")), Ask(ONCE))),
        fixture("own-files", (read("src"), NONE), (by_agent(read("/home/u/.config/creance/x")), Deny)),
        fixture("guarded-arguments", (call(), ALWAYS), (with(call(), |a| a.call().paths.push(arg_path("b", "/home/u/.ssh/id_rsa"))), Ask(ONCE))),
        fixture("secret-arguments", (call(), ALWAYS), (with(call(), |a| a.call().secrets = true), Ask(ONCE))),
        fixture("vcs-internals", (write("src"), NONE), (write(".git/hooks/pre-commit"), Ask(ONCE))),
        fixture("tool-settings", (write("src"), NONE), (write(".MCP.json"), Ask(ONCE))),
        fixture("project-server", (with(start(), project), ALWAYS), (with(start(), project), Ask(ALWAYS))),
        fixture("changed-server", (with(start(), |a| a.start().config_changed = true), ALWAYS), (with(start(), |a| a.start().config_changed = true), Ask(ALWAYS))),
        fixture("changed-program", (exec(), NONE), (with(exec(), |a| a.exec().program.pin = Pin::Changed), Ask(ONCE))),
        fixture("powerful-start", (exec(), NONE), (with(exec(), |a| a.exec().risks.push(Risk::Privilege)), Ask(ALWAYS))),
        fixture("changed-tools", (tools(), NONE), (with(tools(), |a| a.tools().changed.push("x".into())), Ask(ALWAYS))),
        fixture("changed-server-use", (call(), ALWAYS), (with(call(), |a| a.server().tools_pin = Pin::Changed), Ask(ONCE))),
        fixture("incomplete-arguments", (call(), ALWAYS), (with(call(), |a| a.call().arguments["x"] = vec![0; 600].into()), Ask(ONCE))),
        fixture("unresolved-paths", (call(), ALWAYS), (with(call(), |a| a.call().paths.push(lost_path("x"))), Ask(ONCE))),
        fixture("metadata-address", (host("example.com"), ALWAYS), (host("169.254.169.254"), Deny)),
        fixture("inside-address", (host("10.0.0.1"), ALWAYS), (connect("10.0.0.1"), Deny)),
        fixture("project-remote-server", (with(remote(), project), ALWAYS), (with(remote(), project), Ask(ALWAYS))),
        fixture("changed-remote-server", (remote(), ALWAYS), (with(remote(), |a| a.server().pin = Pin::Changed), Ask(ALWAYS))),
        fixture("metadata-host", (remote(), ALWAYS), (with(remote(), |a| leads(a, "169.254.169.254")), Deny)),
        fixture("unresolved-host", (remote(), ALWAYS), (with(remote(), |a| a.remote().addresses.clear()), Deny)),
        fixture("inner-server-project", (with(remote(), |a| leads(a, "127.0.0.1")), ALWAYS), (with(with(remote(), project), |a| leads(a, "127.0.0.1")), Deny)),
        fixture("plain-server", (with(plain(), |a| leads(a, "127.0.0.1")), ALWAYS), (plain(), Deny)),
        fixture("open-sign-in", (sign_in(), ALWAYS), (with(sign_in(), |a| a.sign_in().pkce = false), Deny)),
        fixture("sign-in-address", (sign_in(), ALWAYS), (with(sign_in(), |a| a.sign_in().addresses = vec![]), Deny)),
        fixture("sign-in-inside-project", (with(sign_in(), project), ALWAYS), (with(sign_in(), |a| { project(a); a.sign_in().addresses = vec![[10, 0, 0, 1].into()]; }), Deny)),
        fixture("inside-address-project", (host("10.0.0.1"), ALWAYS), (with(host("10.0.0.1"), project), Deny)),
    ]
}

/// What stops a request that a sweeping permit of the user's lets pass, and nothing built in permits.
#[rustfmt::skip]
fn behind_a_permit() -> Vec<Fixture> {
    let unconfined = with(start(), |a| a.start().confinement = creance::Confinement::none("a test"));
    vec![
        fixture("unconfined-start", (start(), NONE), (unconfined, Ask(ONCE))),
    ]
}

#[rustfmt::skip]
fn defaults() -> Vec<Fixture> {
    vec![
        fixture("ask", (call(), ALWAYS), (call(), Ask(ALWAYS))),
        fixture("ask-start", (start(), ALWAYS), (with(start(), |a| a.start().confinement = weakened(Guarantee::Secrets)), Deny)),
        fixture("run-by-person", (exec(), NONE), (with(exec(), |a| a.run.trigger = Trigger::Agent), Ask(ALWAYS))),
        fixture("read-ordinary-files", (read("/usr/lib"), NONE), (read("/home/u/notes"), Ask(ALWAYS))),
        fixture("write-ordinary-files", (write("src"), NONE), (write("/usr/lib"), Ask(ALWAYS))),
        fixture("plain-variables", (env("LANG"), NONE), (wish(Wish::Env(EnvFacts { name: "TOKEN".into(), looks_secret: true })), Ask(ALWAYS))),
        fixture("clean-tool-list", (with(tools(), |a| a.tools().first_time = true), NONE), (with(tools(), |a| a.tools().flags.push("hidden-text".into())), Ask(ALWAYS))),
    ]
}

/// The examples, each in the layer that it is written for.
fn examples() -> PolicySet {
    let source = |layer: Layer, text: &str| PolicySource {
        layer,
        file: format!("{}.cedar", layer.name()),
        text: text.to_owned(),
    };
    let sources = [
        source(
            Layer::Org,
            include_str!("../../policies/examples/org.cedar"),
        ),
        source(
            Layer::User,
            include_str!("../../policies/examples/user.cedar"),
        ),
        source(
            Layer::Project,
            include_str!("../../policies/examples/project.cedar"),
        ),
    ];
    let (set, warnings) = PolicySet::parse(&sources).unwrap();
    assert_eq!(warnings, []);
    set
}

#[rustfmt::skip]
fn example_forbids() -> Vec<Fixture> {
    let tool = |server: &str, name: &str| with(call(), |a| {
        a.server().id = ServerId::new(if server == "git" { Source::Org } else { Source::User }, server);
        a.call().tool.name = name.to_owned();
    });
    let pay = |amount: i64| with(tool("payments", "pay"), |a| a.call().arguments = serde_json::json!({ "amount": amount }));
    let whole = || wish(Wish::Network(NetworkWish::Whole));
    vec![
        fixture("never-move", (call(), NONE), (tool("files", "move_file"), Deny)),
        fixture("big-numbers", (pay(500), ALWAYS), (pay(501), Ask(ONCE))),
        fixture("pinned-packages", (start(), ALWAYS), (with(start(), |a| a.start().package.1.clear()), Deny)),
        fixture("whole-network", (whole(), ONCE), (whole(), Ask(ONCE))),
        fixture("no-options", (tool("git", "git_log"), ALWAYS), (with(tool("git", "git_log"), |a| a.call().option_like.push("since".into())), Deny)),
        fixture("generated-code", (tool("files", "write_file"), ALWAYS), (with(tool("files", "write_file"), |a| a.call().paths.push(arg_path("to", "generated/x"))), Ask(ALWAYS))),
    ]
}

#[rustfmt::skip]
fn example_permits() -> Vec<Fixture> {
    let weak = |level: fn() -> creance::Confinement| with(start(), |a| a.start().confinement = level());
    vec![
        fixture("read-docs", (call(), NONE), (with(call(), |a| a.call().paths = vec![arg_path("path", "src/a")]), Ask(ALWAYS))),
        fixture("weak-sandbox", (weak(|| weakened(Guarantee::Writes)), ALWAYS), (weak(|| creance::Confinement::none("a test")), Deny)),
    ]
}

/// Each forbid leaves one request alone and is named where it stops another; each permit is named
/// where it lets one pass.
fn check(policies: &PolicySet, forbids: Vec<Fixture>, permits: Vec<Fixture>) {
    let named = |verdict: &creance::Verdict, id: &str| {
        let end = format!("/{id}");
        verdict
            .because
            .iter()
            .any(|because| because.policy.ends_with(&end))
    };
    let outcomes = |Fixture { id, allow, deny }: &Fixture| {
        let passed = policies.evaluate_all(&[allow.0.query()], allow.1);
        assert_eq!(passed.outcome, Allow, "{id}: {passed:#?}");
        let stopped = policies.evaluate_all(&[deny.0.query()], NONE);
        assert_eq!(stopped.outcome, deny.1, "{id}: {stopped:#?}");
        (passed, stopped)
    };
    for fixture in forbids {
        let (_, stopped) = outcomes(&fixture);
        assert!(named(&stopped, fixture.id), "{}: {stopped:#?}", fixture.id);
    }
    for fixture in permits {
        let (passed, _) = outcomes(&fixture);
        assert!(named(&passed, fixture.id), "{}: {passed:#?}", fixture.id);
    }
}

#[test]
fn shipped_policies_do_what_they_say() {
    check(&PolicySet::builtin(), guard_rails(), defaults());
    check(&examples(), example_forbids(), example_permits());
    let all = "@id(\"all\") @reason(\"Everything.\") permit (principal, action, resource);";
    check(&user(all), behind_a_permit(), Vec::new());
}

#[test]
fn each_shipped_policy_has_a_fixture() {
    let tested = [
        guard_rails(),
        behind_a_permit(),
        defaults(),
        example_forbids(),
        example_permits(),
    ];
    let tested: BTreeSet<_> = tested
        .iter()
        .flatten()
        .map(|fixture| fixture.id.to_owned())
        .collect();
    let local = |id: &str| id.rsplit('/').next().unwrap().to_owned();
    let shipped = examples().list();
    let ids = |of_examples: bool| -> BTreeSet<String> {
        let of = shipped
            .iter()
            .filter(|info| (info.layer != Layer::Builtin) == of_examples);
        of.map(|info| local(&info.id)).collect()
    };
    // The built-in policies have tests of their own, which `shipped.rs` holds to be complete.
    let (builtin, examples) = (ids(false), ids(true));
    let unknown: Vec<_> = tested
        .difference(&examples)
        .filter(|id| !builtin.contains(*id))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(examples.is_subset(&tested), "{examples:?} {tested:?}");
}

/// Each of the three guarantees is needed; a policy of the user makes it a question.
#[test]
fn a_weak_sandbox_is_denied_unless_a_policy_asks() {
    let asks = crate::base::user(
        r#"@id("weak") @reason("My machine.")
        permit (principal, action in Action::"start", resource) when { context.approved };"#,
    );
    for guarantee in [Guarantee::Writes, Guarantee::Secrets, Guarantee::Network] {
        let server = with(start(), |a| a.start().confinement = weakened(guarantee));
        let command = with(exec(), |a| a.exec().confinement = weakened(guarantee));
        for asking in [server, command] {
            let verdict = PolicySet::builtin().evaluate_all(&[asking.query()], ONCE);
            assert_eq!(verdict.outcome, Deny);
            assert_eq!(verdict.because[0].role, Role::NoPermit);
            let said = format!("{} weakened", guarantee.name());
            assert!(verdict.because[0].reason.contains(&said), "{verdict:?}");
            assert_eq!(asking.outcome(&asks), Ask(ALWAYS));
        }
    }
    let other = with(start(), |a| {
        a.start().confinement = weakened(Guarantee::Limits)
    });
    assert_eq!(other.outcome(&PolicySet::builtin()), Ask(ALWAYS));
}

/// One question covers a start and its grants; the weakest grant decides.
#[test]
fn the_weakest_query_decides() {
    let policies = PolicySet::builtin();
    let outcome = |wishes: &[Asking], held| {
        let start = start();
        let mut queries = vec![start.query()];
        queries.extend(wishes.iter().map(Asking::query));
        policies.evaluate_all(&queries, held).outcome
    };
    let plain = [read("src"), write("src"), env("LANG")];
    assert_eq!(outcome(&plain, NONE), Ask(ALWAYS));
    assert_eq!(outcome(&plain, ALWAYS), Allow);
    assert_eq!(outcome(&[write(".git/config")], NONE), Ask(ONCE));
    assert_eq!(outcome(&[read("/home/u/.aws/credentials")], ONCE), Deny);
    assert_eq!(policies.evaluate_all(&[], ONCE).outcome, Deny);
}

#[test]
fn guard_rails_alone_permit_nothing() {
    let rails = PolicySet::guard_rails();
    for asking in [
        start(),
        tools(),
        call(),
        resource(),
        exec(),
        env("LANG"),
        read("src"),
    ] {
        let verdict = rails.evaluate_all(&[asking.query()], ONCE);
        assert_eq!(verdict.outcome, Deny);
    }
    let owned = Owned::Wish(Wish::Network(NetworkWish::Whole));
    assert_eq!(
        Asking::new(owned).outcome(&PolicySet::builtin()),
        Ask(ALWAYS)
    );
}
