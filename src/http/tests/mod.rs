//! Tests of the guarded client.
