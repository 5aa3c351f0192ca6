//! OpenTelemetry logs, as OTLP in JSON. Names of tools and methods are those of the conventions for
//! MCP and GenAI, which are still in development there.

use serde_json::{Value, json};

use crate::audit::event::{EventKind, Outcome, OutcomeKind};
use crate::audit::record::Record;

use super::format::text;

pub(super) fn logs(record: &Record) -> Value {
    let (name, severity) = match &record.event.kind {
        EventKind::Decision { outcome, .. } => (
            "creance.decision",
            if *outcome == OutcomeKind::Allow {
                INFO
            } else {
                WARN
            },
        ),
        EventKind::Outcome(outcome) => ("creance.outcome", if outcome.ok { INFO } else { WARN }),
        EventKind::Note { .. } => ("creance.note", INFO),
    };
    let nanoseconds = i128::from(record.event.at_ms) * 1_000_000;
    let body = serde_json::to_value(record).unwrap_or_default();
    let log = json!({
        // 64 bits stand as text in this form.
        "timeUnixNano": nanoseconds.max(0).to_string(),
        "severityNumber": severity.0,
        "severityText": severity.1,
        "eventName": name,
        "body": { "stringValue": text(&body) },
        "attributes": attributes(record),
    });
    json!({
        "resourceLogs": [{
            "resource": { "attributes": [
                attribute("service.name", &json!("creance")),
                attribute("service.version", &json!(env!("CARGO_PKG_VERSION"))),
                attribute("service.instance.id", &json!(record.event.run)),
            ] },
            "scopeLogs": [{
                "scope": { "name": "creance.audit", "version": "1" },
                "logRecords": [log],
            }],
        }],
    })
}

const INFO: (u64, &str) = (9, "INFO");
const WARN: (u64, &str) = (13, "WARN");

fn attributes(record: &Record) -> Vec<Value> {
    let mut all = vec![attribute("creance.seq", &json!(record.seq))];
    let mut add = |name: &str, value: Value| all.push(attribute(name, &value));
    match &record.event.kind {
        EventKind::Decision {
            action,
            principal,
            resource,
            outcome,
            because,
            answer,
            store,
            ..
        } => {
            add("creance.action", json!(action));
            add("creance.principal", json!(principal));
            add("creance.resource", json!(resource));
            add("creance.outcome", json!(outcome));
            add("creance.answer", json!(answer));
            add("creance.store", json!(store));
            if let Some(first) = because.first() {
                add("creance.policy", json!(first.policy));
            }
            if let Some((method, of_tool)) = method(action) {
                add("mcp.method.name", json!(method));
                let name = resource.rsplit('/').next().filter(|_| of_tool);
                name.into_iter()
                    .for_each(|name| add("gen_ai.tool.name", json!(name)));
            }
        }
        EventKind::Outcome(Outcome {
            of,
            ok,
            result,
            took_ms,
            ..
        }) => {
            add("creance.of", json!(of));
            add("creance.ok", json!(ok));
            add("creance.result", json!(result));
            add("creance.took_ms", json!(took_ms));
        }
        EventKind::Note { name, .. } => add("creance.note", json!(name)),
    }
    all
}

/// The MCP method of an action, and whether its resource is a tool.
fn method(action: &str) -> Option<(&'static str, bool)> {
    match action {
        "tool.call" => Some(("tools/call", true)),
        "resource.read" => Some(("resources/read", false)),
        "prompt.get" => Some(("prompts/get", false)),
        "server.tools" => Some(("tools/list", false)),
        "elicit.form" | "elicit.url" => Some(("elicitation/create", false)),
        "sampling.create" => Some(("sampling/createMessage", false)),
        _ => None,
    }
}

fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::Bool(truth) => json!({ "boolValue": truth }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::String(text) => json!({ "stringValue": text }),
        other => json!({ "stringValue": other.to_string() }),
    };
    json!({ "key": key, "value": value })
}
