//! CloudEvents 1.0 as envelope; the record is its data.

use serde_json::{Value, json};

use crate::audit::event::EventKind;
use crate::audit::record::Record;
use crate::audit::view::time;

pub(super) fn event(record: &Record) -> Value {
    let (kind, subject) = match &record.event.kind {
        EventKind::Decision { resource, .. } => ("decision", resource.clone()),
        EventKind::Outcome(outcome) => ("outcome", outcome.of.to_string()),
        EventKind::Note { name, .. } => ("note", name.clone()),
    };
    let mut event = json!({
        "specversion": "1.0",
        // Numbers are one log's; the run is nobody else's.
        "id": format!("{}-{}", record.event.run, record.seq),
        "source": "urn:creance:audit",
        "type": format!("creance.audit.{kind}"),
        "time": time(record.event.at_ms),
        "datacontenttype": "application/json",
        "dataschema": "urn:creance:schema:audit-record:1",
        "data": record,
    });
    if !subject.is_empty()
        && let Some(members) = event.as_object_mut()
    {
        members.insert("subject".to_owned(), json!(subject));
    }
    event
}
