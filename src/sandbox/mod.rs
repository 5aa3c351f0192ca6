//! The OS sandbox: a grant becomes a plan, the plan becomes a confined process.
