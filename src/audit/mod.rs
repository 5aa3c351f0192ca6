//! What goes on record: events, the hash chain that links their lines, its check, and how records
//! are picked and shown. Pure: the file is in `disk`.

mod chain;
mod checkpoint;
mod event;
mod export;
mod facts;
mod json;
mod keys;
mod proof;
mod query;
mod record;
mod report;
mod seam;
mod stats;
mod verify;
mod view;

pub(crate) use chain::{Continued, Mend, Pruned, TornLine, link};
pub use checkpoint::{Checkpoint, CheckpointError};
pub use event::{AuditError, AuditSink, Event, EventKind, Outcome, OutcomeKind, Receipt};
pub use export::Format;
pub use facts::Facts;
pub(crate) use keys::KeyState;
pub use keys::{StartKey, StartKeyError};
pub use query::{Filter, Picker};
pub(crate) use record::{Envelope, LINE_MAX};
pub use record::{Head, HeadError, Record};
pub use report::{Fault, FaultKind, Loss, LossKind, NoOutcome, Report};
pub use stats::{DeniedBy, Stats, Tally, Usage};
pub use verify::{Scope, Verifier, verify};
pub use view::{Paint, Shape};
