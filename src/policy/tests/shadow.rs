//! Which permits are said to be without effect, and which are not.

use crate::policy::{PolicySet, PolicySource};
use crate::request::Layer;

/// What is said of the files of these layers, short.
fn notes(texts: &[(Layer, &str)]) -> Vec<String> {
    let source = |(at, (layer, text)): (usize, &(Layer, &str))| PolicySource {
        layer: *layer,
        file: format!("f{at}.cedar"),
        text: (*text).to_owned(),
    };
    let sources: Vec<PolicySource> = texts.iter().enumerate().map(source).collect();
    let (_, problems) = PolicySet::parse(&sources).unwrap();
    let said = problems
        .iter()
        .filter(|problem| problem.message.starts_with("it "));
    said.map(|problem| format!("{}: {}", problem.policy, problem.message))
        .collect()
}

fn policy(id: &str, text: &str) -> String {
    format!("@id(\"{id}\") @reason(\"r\") {text}\n")
}

const TOOL: &str =
    "principal, action == Action::\"tool.call\", resource == Tool::\"user/files/read\"";

#[track_caller]
fn check(above: (Layer, &str), below: (Layer, &str), want: Option<&str>) {
    let (first, second) = (policy("a", above.1), policy("b", below.1));
    let got = notes(&[(above.0, &first), (below.0, &second)]);
    let want = want.map(|what| {
        let below = below.0.name();
        let above = above.0.name();
        format!(
            "{below}/f1/b: {}",
            what.replace("{}", &format!("{above}/f0/a"))
        )
    });
    assert_eq!(got, Vec::from_iter(want), "{above:?} {below:?}");
}

#[test]
fn permits_that_never_matter_are_said() {
    let (org, user) = (Layer::Org, Layer::User);
    let nothing = Some("it permits nothing: {} forbids all of it");
    let no_more = Some("it adds nothing: {} permits all of it");
    let permit = format!("permit ({TOOL});");
    let forbid = format!("forbid ({TOOL});");
    let asked = format!("permit ({TOOL}) when {{ context.approved_now }};");
    let group = "(principal, action in Action::\"tool\", resource)";
    check((org, &forbid), (user, &permit), nothing);
    check((user, &forbid), (user, &asked), nothing);
    check((org, &format!("forbid {group};")), (user, &permit), nothing);
    check(
        (
            org,
            "forbid (principal, action, resource in Tool::\"user/files/read\");",
        ),
        (user, &permit),
        nothing,
    );
    check(
        (org, "forbid (principal, action, resource is Tool);"),
        (user, &permit),
        nothing,
    );
    check((org, &permit), (user, &permit), no_more);
    check((user, &permit), (user, &asked), no_more);
    check((user, &asked), (user, &asked), no_more);
    check(
        (user, &format!("permit {group};")),
        (user, &permit),
        no_more,
    );
}

/// A forbid from below, with a condition, of less; a permit with other conditions.
#[test]
fn permits_that_matter_are_not() {
    let (org, user, project) = (Layer::Org, Layer::User, Layer::Project);
    let permit = format!("permit ({TOOL});");
    let forbid = format!("forbid ({TOOL});");
    let asked = format!("permit ({TOOL}) when {{ context.approved_now }};");
    let group = "(principal, action in Action::\"tool\", resource)";
    check((project, &forbid), (user, &permit), None);
    check(
        (
            org,
            &format!("forbid ({TOOL}) unless {{ context.approved }};"),
        ),
        (user, &permit),
        None,
    );
    check((org, &forbid), (user, &format!("permit {group};")), None);
    check(
        (org, "forbid (principal is Server, action, resource);"),
        (user, &permit),
        None,
    );
    check(
        (
            org,
            "forbid (principal, action, resource == Tool::\"user/files/write\");",
        ),
        (user, &permit),
        None,
    );
    check(
        (user, &asked),
        (
            user,
            &format!("permit ({TOOL}) when {{ context.args_valid }};"),
        ),
        None,
    );
}

/// The organisation's stands by itself, whatever users permit beside it.
#[test]
fn the_lower_of_two_is_said() {
    let permit = policy("a", &format!("permit ({TOOL});"));
    let got = notes(&[(Layer::User, &permit), (Layer::Org, &permit)]);
    assert_eq!(
        got,
        ["user/f0/a: it adds nothing: org/f1/a permits all of it"]
    );
}

/// A narrower permit is said wherever it stands.
#[test]
fn the_narrower_of_two_is_said() {
    let texts = policy("narrow", &format!("permit ({TOOL});"))
        + &policy(
            "wide",
            "permit (principal, action == Action::\"tool.call\", resource);",
        );
    let got = notes(&[(Layer::User, &texts)]);
    assert_eq!(
        got,
        ["user/f0/narrow: it adds nothing: user/f0/wide permits all of it"]
    );
}
