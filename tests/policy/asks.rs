//! What servers ask back, and signing in to them: a turn for each fact, and what the shipped policies make of it.

use creance::{Answer, IncludeContext, LinkScheme, PolicyOutcome, PolicySet, Source};

use crate::asked::{form, link, sample, sign_in};
use crate::base::{Asking, Owned, user};
use crate::facts::{Flip, flip};

impl Asking {
    pub(crate) fn sign_in(&mut self) -> &mut creance::SignIn {
        match &mut self.act {
            Owned::SignIn(sign_in) => sign_in,
            other => panic!("no oauth.sign_in: {other:?}"),
        }
    }
}

fn of_form(a: &mut Asking) -> &mut creance::ElicitForm {
    match &mut a.act {
        Owned::Form(form) => form,
        other => panic!("{other:?}"),
    }
}

fn of_link(a: &mut Asking) -> &mut creance::ElicitUrl {
    match &mut a.act {
        Owned::Link(link) => link,
        other => panic!("{other:?}"),
    }
}

fn of_sample(a: &mut Asking) -> &mut creance::CreateSample {
    match &mut a.act {
        Owned::Sample(sample) => sample,
        other => panic!("{other:?}"),
    }
}

#[rustfmt::skip]
pub(crate) fn flips() -> Vec<Flip> {
    let elicit = |fact, when: &str, change: fn(&mut Asking)| flip(fact, "elicit.form", when, form(), change);
    let open = |fact, when: &str, change: fn(&mut Asking)| flip(fact, "elicit.url", when, link(), change);
    let on = |fact, when: &str, change: fn(&mut Asking)| flip(fact, "sampling.create", when, sample(), change);
    vec![
        elicit("elicit.form.fields", r#"context.fields.contains("x")"#, |a| of_form(a).fields.push("x".into())),
        elicit("elicit.form.during_call", "!context.during_call", |a| of_form(a).during_call = false),
        elicit("elicit.form.asked_this_session", "context.asked_this_session > 9", |a| of_form(a).asked_this_session = 10),
        open("elicit.url.port", "context.port != 443", |a| of_link(a).port = 8443),
        open("elicit.url.ip_class", r#"context.ip_class == IpClass::"public""#, |a| of_link(a).host = "93.184.216.34".parse().unwrap()),
        open("elicit.url.url", r#"context.url like "*/pay""#, |a| of_link(a).url = "https://example.com/pay".into()),
        open("elicit.url.url_length", "context.url_length > 1000", |a| of_link(a).url_length = 1001),
        open("elicit.url.same_site_as_server", "context.same_site_as_server", |a| of_link(a).same_site_as_server = true),
        open("elicit.url.during_call", "!context.during_call", |a| of_link(a).during_call = false),
        on("sampling.create.depth", "context.depth > 1", |a| of_sample(a).depth = 2),
        on("sampling.create.concurrent", "context.concurrent > 1", |a| of_sample(a).concurrent = 2),
        on("sampling.create.this_session", "context.this_session > 9", |a| of_sample(a).this_session = 10),
        on("sampling.create.max_tokens", "context.max_tokens > 4096", |a| of_sample(a).max_tokens = 4097),
        on("sampling.create.input_bytes", "context.input_bytes > 5000", |a| of_sample(a).input_bytes = 5001),
        on("sampling.create.include_context", r#"context.include_context == IncludeContext::"all-servers""#, |a| of_sample(a).include_context = IncludeContext::AllServers),
        on("sampling.create.include_context (its own)", r#"context.include_context == IncludeContext::"this-server""#, |a| of_sample(a).include_context = IncludeContext::ThisServer),
        on("sampling.create.tools", r#"context.tools.contains("x")"#, |a| of_sample(a).tools.push("x".into())),
        on("Model.name", r#"resource.name == "x/y""#, |a| { of_sample(a).model.name = "x/y".into() }),
        on("Model.local", "resource.local", |a| of_sample(a).model.local = true),
        on("Provider", r#"resource in Provider::"x""#, |a| { of_sample(a).model.name = "x/y".into() }),
    ]
}

/// The facts that a guard rail alone decides by: no policy of a user can permit what it stops.
const GUARDED: [&str; 3] = [
    "elicit.form.sensitive",
    "elicit.url.scheme",
    "sampling.create.during_call",
];

pub(crate) fn guarded() -> impl Iterator<Item = String> {
    GUARDED.iter().map(|fact| (*fact).to_owned())
}

fn permitting() -> PolicySet {
    user("@id(\"all\") @reason(\"r\") permit (principal, action, resource);")
}

fn check(asking: &Asking, held: Answer, want: (PolicyOutcome, &str)) {
    let verdict = permitting().evaluate_all(&[asking.query()], held);
    assert_eq!(verdict.outcome, want.0, "{verdict:#?}");
    let named = verdict.because.iter().any(|b| b.policy.ends_with(want.1));
    assert!(named, "{}: {verdict:#?}", want.1);
}

fn with(mut asking: Asking, change: impl FnOnce(&mut Asking)) -> Asking {
    change(&mut asking);
    asking
}

#[test]
fn guard_rails_hold_whatever_a_user_permits() {
    use PolicyOutcome::{Allow, Ask, Deny};
    let (none, once) = (Answer::None, Answer::Once);
    check(&form(), none, (Allow, "all"));
    check(
        &with(form(), |a| of_form(a).sensitive = true),
        once,
        (Deny, "form-for-credentials"),
    );
    check(
        &with(form(), |a| of_form(a).asked_this_session = 50),
        none,
        (Ask(once), "many-forms"),
    );
    check(&link(), none, (Allow, "all"));
    check(
        &with(link(), |a| of_link(a).scheme = LinkScheme::Http),
        once,
        (Deny, "link-scheme"),
    );
    let here = |host: &str| {
        with(link(), |a| {
            of_link(a).scheme = LinkScheme::Http;
            of_link(a).host = host.parse().unwrap();
        })
    };
    for host in ["127.0.0.1", "localhost", "::1"] {
        check(&here(host), none, (Ask(once), "inner-address"));
        check(&here(host), once, (Allow, "all"));
        let mut project = here(host);
        project.server().id.source = Source::Project;
        check(&project, once, (Deny, "link-scheme"));
    }
    check(&here("10.0.0.1"), once, (Deny, "link-scheme"));
    check(
        &with(link(), |a| of_link(a).host = "printer".parse().unwrap()),
        none,
        (Ask(once), "inner-address"),
    );
    check(
        &with(link(), |a| {
            of_link(a).host = "169.254.169.254".parse().unwrap()
        }),
        once,
        (Deny, "metadata-host"),
    );
}

#[test]
fn guard_rails_hold_for_models_whatever_a_user_permits() {
    use PolicyOutcome::{Allow, Ask, Deny};
    let (none, once) = (Answer::None, Answer::Once);
    check(&sample(), none, (Allow, "all"));
    check(
        &with(sample(), |a| of_sample(a).depth = 3),
        once,
        (Deny, "sampling-depth"),
    );
    check(
        &with(sample(), |a| of_sample(a).concurrent = 4),
        once,
        (Deny, "sampling-crowd"),
    );
    check(
        &with(sample(), |a| of_sample(a).max_tokens = 16_385),
        none,
        (Ask(once), "sampling-tokens"),
    );
    check(
        &with(sample(), |a| of_sample(a).this_session = 200),
        none,
        (Ask(once), "sampling-often"),
    );
    check(
        &with(sample(), |a| of_sample(a).during_call = false),
        none,
        (Ask(once), "sampling-unasked"),
    );
    for asking in [form(), link(), sample()] {
        let changed = with(asking, |a| a.server().tools_pin = creance::Pin::Changed);
        check(&changed, none, (Ask(once), "changed-server-talk"));
    }
}

#[test]
fn by_default_forms_pass_and_the_rest_is_asked_about() {
    use PolicyOutcome::{Allow, Ask};
    let policies = PolicySet::builtin();
    assert_eq!(form().outcome(&policies), Allow);
    assert_eq!(link().outcome(&policies), Ask(Answer::Remembered));
    assert_eq!(sample().outcome(&policies), Ask(Answer::Remembered));
}

/// Nothing that a server wrote into a link is on record but where it leads.
#[test]
fn a_record_of_a_link_holds_its_origin_alone() {
    let asking = with(link(), |a| {
        of_link(a).url = "https://example.com/zzz?token=yyy".into()
    });
    let recorded = creance::facts(&asking.query()).to_string();
    assert!(recorded.contains("example.com"), "{recorded}");
    assert!(
        !recorded.contains("zzz") && !recorded.contains("yyy"),
        "{recorded}"
    );
}

#[rustfmt::skip]
pub(crate) fn sign_ins() -> Vec<Flip> {
    let on = |fact, when: &str, change: fn(&mut Asking)| {
        flip(fact, "oauth.sign_in", when, sign_in(), change)
    };
    vec![
        on("Issuer.url", r#"resource.url == "https://x.example.com""#, |a| a.sign_in().issuer = "https://x.example.com".into()), on("Issuer", r#"resource in Domain::"evil.test""#, |a| a.sign_in().issuer = "https://login.evil.test:8443/a".into()), on("oauth.sign_in.server", "!context.server.sandboxed", |a| { a.server().sandboxed = false }),
        on("oauth.sign_in.scopes", r#"context.scopes.contains("admin")"#, |a| a.sign_in().scopes[0] = "admin".into()), on("oauth.sign_in.scope_count", "context.scope_count > 1", |a| a.sign_in().scopes.push("x".into())),
        on("oauth.sign_in.dynamic_registration", "context.dynamic_registration", |a| { a.sign_in().dynamic_registration = true }), on("oauth.sign_in.pkce", "!context.pkce", |a| { a.sign_in().pkce = false }),
        on("oauth.sign_in.issuer_matches_server", "!context.issuer_matches_server", |a| { a.sign_in().issuer_matches_server = false }), on("oauth.sign_in.ip_class", r#"context.ip_class == IpClass::"private""#, |a| { a.sign_in().addresses.push([10, 0, 0, 1].into()) }),
        on("oauth.sign_in.scheme", r#"context.scheme == Scheme::"http""#, |a| { a.sign_in().addresses = vec![[127, 0, 0, 1].into()]; a.sign_in().page = "http://127.0.0.1:1".into(); }),
    ]
}
