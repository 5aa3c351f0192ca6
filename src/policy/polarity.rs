//! The flags of human answers may only make a policy more permissive: positive in a permit, negative
//! in a forbid, nowhere else. Without this rule an answer could take away what needs no answer.

use cedar_policy::Effect;
use serde_json::Value;

pub(super) const FLAGS: [&str; 3] = ["approved", "approved_this_session", "approved_now"];

/// What a policy must not do with the flags.
pub(super) const RULE: &str = "context.approved, approved_this_session and approved_now may only make a policy more permissive";
/// How to say it instead.
pub(super) const HINT: &str =
    "write `permit … when { context.approved }` or `forbid … unless { context.approved }`";

/// Whether a policy, in Cedar's JSON form, keeps the rule.
pub(super) fn holds(effect: Effect, policy: &Value) -> bool {
    let permit = effect == Effect::Permit;
    conditions(policy).all(|(kind, body)| sound(body, Positive((kind == "when") == permit)))
}

/// The conditions of a policy in JSON form: `when` or `unless`, and the expression.
pub(super) fn conditions(policy: &Value) -> impl Iterator<Item = (&str, &Value)> {
    policy
        .get("conditions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|condition| Some((condition.get("kind")?.as_str()?, condition.get("body")?)))
}

fn is_context(expression: &Value) -> bool {
    expression.get("Var").and_then(Value::as_str) == Some("context")
}

fn attribute_of_context(expression: &Value) -> Option<&str> {
    let access = expression.get(".")?;
    if is_context(access.get("left")?) {
        access.get("attr")?.as_str()
    } else {
        None
    }
}

fn is_flag(expression: &Value) -> bool {
    attribute_of_context(expression).is_some_and(|name| FLAGS.contains(&name))
}

/// Which flag is read here, by its place in [`FLAGS`].
#[cfg(feature = "prove")]
pub(super) fn flag_of(expression: &Value) -> Option<usize> {
    let name = attribute_of_context(expression)?;
    FLAGS.iter().position(|flag| *flag == name)
}

/// Whether a flag is read here, or the context is used whole (`context == …`, `context has …`).
pub(super) fn mentions_flags(expression: &Value) -> bool {
    if let Some(name) = attribute_of_context(expression) {
        return FLAGS.contains(&name);
    }
    if is_context(expression) {
        return true;
    }
    match expression {
        Value::Object(members) => members.values().any(mentions_flags),
        Value::Array(members) => members.iter().any(mentions_flags),
        _ => false,
    }
}

/// Whether the context is used at all.
pub(super) fn mentions_context(expression: &Value) -> bool {
    if is_context(expression) {
        return true;
    }
    match expression {
        Value::Object(members) => members.values().any(mentions_context),
        Value::Array(members) => members.iter().any(mentions_context),
        _ => false,
    }
}

/// Whether a flag may stand here: under an even number of negations.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Positive(bool);

fn sound(expression: &Value, wanted: Positive) -> bool {
    if is_flag(expression) {
        return wanted.0;
    }
    let part = |name: &str, inner: &str| {
        expression
            .get(name)
            .and_then(|operator| operator.get(inner))
            .unwrap_or(&Value::Null)
    };
    let Some(operator) = expression.as_object().and_then(|o| o.keys().next()) else {
        return true;
    };
    match operator.as_str() {
        op @ ("&&" | "||") => sound(part(op, "left"), wanted) && sound(part(op, "right"), wanted),
        "!" => sound(part("!", "arg"), Positive(!wanted.0)),
        op @ "if-then-else" => {
            !mentions_flags(part(op, "if"))
                && sound(part(op, "then"), wanted)
                && sound(part(op, "else"), wanted)
        }
        _ => !mentions_flags(expression),
    }
}
