//! Tests of the organisation's bundle on a machine.

mod bundles;
mod followed;
mod locked_bundle;
mod server;
mod shipped_by_address;
