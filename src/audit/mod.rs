//! What goes on record: events, the hash chain that links their lines, its check, and how records
//! are picked and shown. Pure: the file is in `disk`.

mod chain;
mod event;
mod json;
mod query;
mod record;
mod report;
mod verify;
mod view;

pub(crate) use chain::{Continued, Mend, TornLine, link};
pub use event::{AuditError, AuditSink, Event, EventKind, Outcome, OutcomeKind, Receipt};
pub use query::Filter;
pub(crate) use record::{Envelope, LINE_MAX};
pub use record::{Head, HeadError, Record};
pub use report::{Fault, FaultKind, Loss, LossKind, NoOutcome, Report};
pub use verify::{Verifier, verify};
pub use view::{Paint, Shape};
