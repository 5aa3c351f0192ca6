//! The open ways out of one line, so that a change of policies reaches every connection.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::outlet::Outlet;

/// The open ways out.
#[derive(Debug, Default)]
pub(crate) struct Outlets(Mutex<Vec<Weak<Outlet>>>);

impl Outlets {
    pub(super) fn add(&self, outlet: &Arc<Outlet>) {
        let mut outlets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outlets.retain(|outlet| outlet.strong_count() > 0);
        outlets.push(Arc::downgrade(outlet));
    }

    /// Ends the connections that the policies in force do not allow any more.
    pub(crate) fn cut(&self) {
        let open: Vec<Arc<Outlet>> = {
            let outlets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            outlets.iter().filter_map(Weak::upgrade).collect()
        };
        for outlet in open {
            outlet.cut();
        }
    }
}
