//! Which tools a policy names as actions, and whether it would miss the calls of such tools.

use std::collections::BTreeSet;

use cedar_policy_core::ast::{BinaryOp, EntityUID, Expr, ExprKind, Literal};

use crate::request::{Action, CallTool};

/// The tools that stand in a policy as actions, `user/fs/write_file`.
pub(in crate::policy) fn tools_named(condition: &Expr) -> BTreeSet<String> {
    let parts = condition.subexpressions().flat_map(entities);
    let actions = parts.filter(|name| name.is_action());
    let names = actions.map(|name| AsRef::<str>::as_ref(name.eid()).to_owned());
    names.filter(|name| is_tool(name)).collect()
}

/// Whether this is the name of a tool: source, server, and the tool's own name, which may hold
/// anything.
fn is_tool(name: &str) -> bool {
    let mut parts = name.splitn(3, '/');
    matches!(parts.next(), Some("builtin" | "org" | "user" | "project"))
        && parts.next().is_some_and(|server| !server.is_empty())
        && parts.next().is_some_and(|tool| !tool.is_empty())
}

/// Whether the general action stands in a policy otherwise than behind `action in`: a call of a tool
/// with an action of its own is in `Action::"tool.call"`, and is not equal to it.
pub(in crate::policy) fn misses_typed(condition: &Expr) -> bool {
    let (mut all, mut behind_in) = (0, 0);
    for part in condition.subexpressions() {
        all += entities(part).filter(|name| is_general(name)).count();
        if let ExprKind::BinaryApp {
            op: BinaryOp::In,
            arg2,
            ..
        } = part.expr_kind()
        {
            let right = match arg2.expr_kind() {
                ExprKind::Set(items) => items.iter().flat_map(entities).collect(),
                _ => entities(arg2).collect::<Vec<_>>(),
            };
            behind_in += right.into_iter().filter(|name| is_general(name)).count();
        }
    }
    all > behind_in
}

fn is_general(name: &EntityUID) -> bool {
    name.is_action() && AsRef::<str>::as_ref(name.eid()) == CallTool::NAME
}

/// The entity that an expression names by itself.
fn entities(part: &Expr) -> impl Iterator<Item = &EntityUID> {
    let found = match part.expr_kind() {
        ExprKind::Lit(Literal::EntityUID(name)) => Some(&**name),
        _ => None,
    };
    found.into_iter()
}
