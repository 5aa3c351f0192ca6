//! Files: folders, policy sources, configuration, the audit log, pins and answers, resolved paths.

mod program;
mod settings;
