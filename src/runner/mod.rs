//! The public handles; wires the floors together.
