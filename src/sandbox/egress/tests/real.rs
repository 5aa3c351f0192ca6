//! Hellos of real programs.
