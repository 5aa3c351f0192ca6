//! Policies that Cedar accepts and that would not do what they say: names that nothing has, `like`
//! on paths, sums that can overflow. Looks at one policy in Cedar's JSON form.

use cedar_policy::Effect;
use serde_json::Value;

use crate::address::HostName;

use super::polarity::conditions;

/// One finding.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) fatal: bool,
    pub(super) message: String,
    pub(super) hint: &'static str,
}

impl Finding {
    fn fatal(message: impl Into<String>, hint: &'static str) -> Self {
        Self {
            fatal: true,
            message: message.into(),
            hint,
        }
    }

    fn warning(message: impl Into<String>, hint: &'static str) -> Self {
        Self {
            fatal: false,
            message: message.into(),
            hint,
        }
    }
}

/// All findings about one policy.
pub(super) fn findings(effect: Effect, policy: &Value) -> Vec<Finding> {
    let mut found = Vec::new();
    visit(policy, &mut |node| {
        found.extend(literal(node));
        found.extend(compared_path(node));
        found.extend(like(node));
        if effect == Effect::Forbid {
            found.extend(arithmetic(node));
        }
    });
    if effect == Effect::Permit && permits_everything(policy) {
        found.push(Finding::warning(
            "this permits everything that no policy forbids, without any question",
            "name an action and a resource, or add `when { context.approved }`",
        ));
    }
    found.dedup();
    found
}

fn visit(node: &Value, look: &mut impl FnMut(&Value)) {
    look(node);
    match node {
        Value::Object(members) => members.values().for_each(|member| visit(member, look)),
        Value::Array(members) => members.iter().for_each(|member| visit(member, look)),
        _ => {}
    }
}

/// The type and id of an entity literal.
fn entity(node: &Value) -> Option<(&str, &str)> {
    Some((node.get("type")?.as_str()?, node.get("id")?.as_str()?))
}

/// A literal that no entity can have is a rule that never fires.
fn literal(node: &Value) -> Option<Finding> {
    let (kind, id) = entity(node)?;
    name(kind, id)
}

/// A name that no entity of its type can have.
pub(super) fn name(kind: &str, id: &str) -> Option<Finding> {
    match kind {
        "Path" if !is_resolved(id) => Some(Finding::fatal(
            format!("no path is named `{id}`"),
            "paths are absolute (`/w/docs`) or relative to the project (`./docs`, `.`), without `..`, `~`, wildcards and final slash",
        )),
        "Host" | "Domain"
            if id
                .parse::<HostName>()
                .map(|h| h.as_str() != id)
                .unwrap_or(true) =>
        {
            Some(Finding::fatal(
                format!("no host is named `{id}`"),
                "hosts are lower-case, in punycode, without port, wildcard and final dot; `resource in Domain::\"example.com\"` covers all below it",
            ))
        }
        "Server" if parts(id) < 2 => Some(unqualified("server", id)),
        "Tool" | "Prompt" | "McpResource" if parts(id) < 3 => {
            Some(unqualified(&kind.to_lowercase(), id))
        }
        _ => None,
    }
}

fn unqualified(kind: &str, id: &str) -> Finding {
    Finding::fatal(
        format!("no {kind} is named `{id}`"),
        "names begin with their source: `Server::\"user/files\"`, `Tool::\"user/files/read\"`; sources are builtin, org, user, project",
    )
}

/// How many parts a qualified name has; 0 when it does not begin with a source.
fn parts(id: &str) -> usize {
    let mut parts = id.splitn(3, '/');
    match parts.next() {
        Some("builtin" | "org" | "user" | "project") => {
            1 + parts.filter(|part| !part.is_empty()).count()
        }
        _ => 0,
    }
}

fn is_resolved(path: &str) -> bool {
    let clean = |rest: &str| {
        rest.split('/')
            .all(|part| !matches!(part, "" | "." | "..") && part != "*" && part != "**")
    };
    match path {
        "/" | "." => true,
        _ => path
            .strip_prefix("./")
            .or_else(|| path.strip_prefix('/'))
            .is_some_and(clean),
    }
}

/// `== Path::"./docs"`: the project-relative form is something a path is in, never what it is.
fn compared_path(node: &Value) -> Option<Finding> {
    let named = |operand: &Value| {
        let literal = operand.get("Value")?.get("__entity")?;
        entity(literal)
            .filter(|(kind, id)| *kind == "Path" && id.starts_with('.'))
            .map(|(_, id)| id.to_owned())
    };
    let in_scope = (node.get("op").and_then(Value::as_str) == Some("=="))
        .then(|| node.get("entity").and_then(entity))
        .flatten()
        .filter(|(kind, id)| *kind == "Path" && id.starts_with('.'))
        .map(|(_, id)| id.to_owned());
    let in_body = ["==", "!="].iter().find_map(|operator| {
        let operands = node.get(operator)?;
        named(operands.get("left")?).or_else(|| named(operands.get("right")?))
    });
    let id = in_scope.or(in_body)?;
    Some(Finding::fatal(
        format!("no path equals `{id}`: paths are compared in their absolute form"),
        "write `in` instead of `==`",
    ))
}

/// Overflow is an error, and a forbid that errors denies everything in its scope.
fn arithmetic(node: &Value) -> Option<Finding> {
    let members = node.as_object()?;
    let operator = ["+", "-", "*", "neg"]
        .into_iter()
        .find(|operator| members.get(*operator).is_some_and(Value::is_object))?;
    Some(Finding::fatal(
        format!(
            "arithmetic (`{operator}`) in a forbid can overflow, and would then deny whatever it is asked"
        ),
        "compare with a constant instead",
    ))
}

fn like(node: &Value) -> Option<Finding> {
    let operands = node.get("like")?;
    let left = operands.get("left")?;
    let pattern = operands.get("pattern")?.as_array()?;
    let literals = || pattern.iter().filter_map(|p| p.get("Literal")?.as_str());
    let attribute = left
        .get(".")
        .and_then(|access| access.get("attr")?.as_str());
    let of_argument = left.get("getTag").is_some();
    let slashes = literals().any(|text| text.contains('/'));
    if slashes && (of_argument || matches!(attribute, Some("text" | "path" | "cwd" | "args_json")))
    {
        return Some(Finding::warning(
            "`*` in `like` also matches `/` and `..`, and `like` minds case",
            "write `resource in Path::\"./docs\"` or `context.every_path in Path::\"./docs\"`, which is decided part by part on the resolved path; protected names are in a Place whatever their case",
        ));
    }
    let letters = literals().any(|text| text.chars().any(char::is_alphabetic));
    if letters && matches!(attribute, Some("text" | "name" | "path")) {
        return Some(Finding::warning(
            "`like` minds case: on a disk that does not, other spellings name the same file",
            "credentials and protected files are in Place::\"secrets\" and Place::\"project-config\" whatever their case",
        ));
    }
    None
}

fn permits_everything(policy: &Value) -> bool {
    let open = ["principal", "action", "resource"].iter().all(|part| {
        let operator = policy.get(part).and_then(|scope| scope.get("op")?.as_str());
        operator == Some("All")
    });
    let holds = |(kind, body): (&str, &Value)| {
        body.get("Value").and_then(Value::as_bool) == Some(kind == "when")
    };
    open && conditions(policy).all(holds)
}
