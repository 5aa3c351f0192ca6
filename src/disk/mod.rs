//! Files: folders, policy sources, configuration, the audit log, pins and answers, resolved paths.
//! All I/O of the product is here, in `sandbox`, `transport` and `terminal`.

mod append;
mod audit_log;
mod bundle;
mod checkpoints;
pub(crate) mod clients;
mod clock;
mod folders;
mod follow;
mod ledger;
mod ledger_store;
mod log_file;
mod log_keys;
mod log_names;
mod log_reader;
mod log_secrets;
#[cfg_attr(unix, path = "os_unix.rs")]
#[cfg_attr(not(unix), path = "os_other.rs")]
mod os;
mod policies;
mod policy_look;
#[cfg(feature = "http")]
mod private_file;
pub(crate) mod program;
mod project;
mod read;
mod resolve;
mod rotate;
pub(crate) mod settings;
mod sign;
mod surroundings;
mod sync;
mod tail;
mod texts;
#[cfg(feature = "http")]
mod vault;
mod write;

pub use audit_log::{AuditLog, Check};
pub(crate) use bundle::{
    BUNDLE_MAX, RawBundle, SeenBundle, age_ms, keep_copy, keep_seen_bundle, read_bundle,
    roots_file, seen_bundle,
};
pub(crate) use clock::{clock, random_id};
pub(crate) use folders::{FolderError, Folders};
pub use follow::Follow;
pub use ledger::FileLedger;
pub use log_secrets::Keys;
pub(crate) use policies::{PolicyFolder, read_policies};
pub(crate) use policy_look::look_at_policies;
#[cfg(feature = "http")]
pub(crate) use private_file::{read_private, write_private};
pub(crate) use project::{project_root, unread};
pub(crate) use resolve::{path_text, resolve};
pub use rotate::Rotation;
pub(crate) use surroundings::Surroundings;
pub use sync::Durability;
pub(crate) use texts::{TextFile, text_of, texts_in};
#[cfg(feature = "http")]
pub(crate) use vault::{Keep, Safe, Vault};
pub(crate) use write::replace_file;
pub(crate) use write::write_atomic;
pub(crate) use write::{named_here, write_open};
