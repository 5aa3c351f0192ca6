//! The decision point: the only mint of permits.
