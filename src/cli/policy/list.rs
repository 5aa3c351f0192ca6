//! `creance policy list`.

use creance::PolicyEffect;

use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

/// How much of each policy is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    Names,
    Texts,
}

pub(super) fn run(depth: Depth, form: Form) -> Outcome {
    let workspace = out::workspace()?;
    let in_force = workspace.policies();
    let policies = in_force.store.list();
    if form.is_json() {
        out::json(&policies);
        return Ok(Exit::Done);
    }
    if let Some(bundle) = &in_force.bundle {
        out::line(&bundle.to_string());
    }
    for policy in policies {
        let effect = match policy.effect {
            PolicyEffect::Permit => "permit",
            PolicyEffect::Forbid => "forbid",
        };
        out::line(&format!(
            "{effect:6} {}  ({}:{})",
            policy.id, policy.file, policy.line
        ));
        out::line(&format!("       {}", policy.reason));
        if depth == Depth::Texts {
            for line in policy.text.lines() {
                out::line(&format!("       | {line}"));
            }
        }
    }
    Ok(Exit::Done)
}
