//! Records in the forms that other systems read: OCSF, OpenTelemetry, CloudEvents, CSV. What a form
//! has no place for goes with it whole, so that nothing is left out.

mod cloudevents;
mod csv;
mod format;
mod ocsf;
mod otel;

pub use format::Format;

#[cfg(test)]
mod tests;
