//! One file per effect: takes a permit by value, spends it on one mechanism, records the outcome.
