//! OCSF 1.4. OCSF has no class for decisions: a decision is an API Activity of its actor, with the
//! deciding policies as the actor's authorizations.

use serde_json::{Value, json};

use crate::audit::event::{EventKind, Outcome, OutcomeKind};
use crate::audit::record::Record;
use crate::request::{Because, Role};

const VERSION: &str = "1.4.0";

pub(super) fn event(record: &Record) -> Value {
    let (class, activity, status) = match &record.event.kind {
        EventKind::Decision {
            outcome, action, ..
        } => (
            6003,
            activity(action),
            u64::from(*outcome == OutcomeKind::Deny) + 1,
        ),
        EventKind::Outcome(outcome) => (6003, 99, u64::from(!outcome.ok) + 1),
        EventKind::Note { .. } => (0, 99, 0),
    };
    let mut event = json!({
        "metadata": {
            "version": VERSION,
            "product": {
                "name": "Creance",
                "vendor_name": "Creance",
                "version": env!("CARGO_PKG_VERSION"),
            },
            "profiles": ["security_control"],
            "log_name": "audit",
            "sequence": record.seq,
            "uid": format!("{}-{}", record.event.run, record.seq),
            "correlation_uid": record.event.run,
        },
        "time": record.event.at_ms,
        "category_uid": class / 1000,
        "class_uid": class,
        "activity_id": activity,
        "type_uid": class * 100 + activity,
        "severity_id": 1,
        "status_id": status,
        "unmapped": record,
    });
    if let Some(members) = event.as_object_mut()
        && let Value::Object(more) = of_kind(&record.event.kind)
    {
        members.extend(more);
    }
    event
}

fn of_kind(kind: &EventKind) -> Value {
    match kind {
        EventKind::Decision {
            action,
            principal,
            resource,
            outcome,
            because,
            ..
        } => {
            let (word, control, disposition) = match outcome {
                OutcomeKind::Allow => ("allowed", 1, 1),
                OutcomeKind::Deny => ("denied", 2, 2),
            };
            let policies: Vec<Value> = because.iter().map(|one| policy(word, one)).collect();
            json!({
                "action_id": control,
                "disposition_id": disposition,
                "actor": { "app_name": principal, "authorizations": policies },
                "api": { "operation": action, "service": { "name": "creance" } },
                "src_endpoint": { "name": principal },
                "resources": [{ "name": resource, "type": action }],
            })
        }
        EventKind::Outcome(Outcome {
            of,
            result,
            took_ms,
            ..
        }) => json!({
            "status": result,
            "duration": took_ms,
            "actor": { "app_name": "creance" },
            "api": {
                "operation": "outcome",
                "request": { "uid": of.to_string() },
                "service": { "name": "creance" },
            },
            "src_endpoint": { "name": "creance" },
        }),
        EventKind::Note { name, .. } => json!({ "message": name }),
    }
}

fn policy(word: &str, because: &Because) -> Value {
    let applied = !matches!(because.role, Role::NoPermit | Role::Error);
    json!({
        "decision": word,
        "policy": {
            "uid": because.policy,
            "group": because.layer,
            "type": because.role,
            "desc": because.reason,
            "is_applied": applied,
        },
    })
}

/// Create, read, update, delete; 99 for what is none of these.
fn activity(action: &str) -> u64 {
    match action {
        "resource.read" | "prompt.get" | "sandbox.read" | "file.read" => 2,
        "sandbox.write" | "file.write" => 3,
        _ => 99,
    }
}
