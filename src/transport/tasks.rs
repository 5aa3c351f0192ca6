//! Tasks that live as long as their owner.

use tokio::task::AbortHandle;

/// Spawned tasks; dropping the last owner stops them.
#[derive(Debug, Default)]
pub(super) struct Tasks(Vec<AbortHandle>);

impl Tasks {
    /// Starts a task that stops with its owner.
    pub(super) fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.push(tokio::spawn(task).abort_handle());
    }

    /// Stops a task that was started elsewhere together with the others.
    pub(super) fn adopt(&mut self, task: AbortHandle) {
        self.0.push(task);
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}
