//! What goes on record.

mod event;

pub use event::{AuditError, AuditSink, Event, EventKind, Outcome, OutcomeKind, Receipt};
