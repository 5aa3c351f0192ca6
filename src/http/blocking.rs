//! Waiting for HTTP where there is no runtime to wait in.

/// Waits for a future on a thread of its own, so that it may be called inside a runtime as well.
///
/// # Errors
/// There is no thread, or it ended early.
pub(crate) fn blocking<T: Send>(future: impl Future<Output = T> + Send) -> Result<T, String> {
    let done = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build();
            runtime.map(|runtime| runtime.block_on(future))
        });
        waiting.join()
    });
    match done {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("the attempt was broken off".to_owned()),
    }
}
