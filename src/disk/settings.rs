//! Reads the configuration files of a run, and edits the user's.
