//! What one proxy gives at most.

/// Limits of one proxy. Times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EgressLimits {
    /// Connections at one time, also those that wait for an answer.
    pub(crate) connections: usize,
    /// Bytes of a request's head, and of an answer's.
    pub(crate) head_bytes: usize,
    /// Time for the program to send its request, its head or its SOCKS words.
    pub(crate) head_ms: u64,
    /// Bytes of a TLS hello.
    pub(crate) hello_bytes: usize,
    /// Time for the hello, once the tunnel stands.
    pub(crate) hello_ms: u64,
    /// Time to look a name up.
    pub(crate) resolve_ms: u64,
    /// Time to connect to one address.
    pub(crate) connect_ms: u64,
    /// Time in which nothing passes in either direction.
    pub(crate) idle_ms: u64,
    /// Bytes to one target, over the life of the proxy: what can be carried off by one permission.
    pub(crate) up_bytes: Option<u64>,
    /// Bytes from one target, over the life of the proxy.
    pub(crate) down_bytes: Option<u64>,
}

impl Default for EgressLimits {
    fn default() -> Self {
        Self {
            connections: 128,
            head_bytes: 16 << 10,
            head_ms: 10_000,
            hello_bytes: 16 << 10,
            hello_ms: 5_000,
            resolve_ms: 10_000,
            connect_ms: 10_000,
            idle_ms: 300_000,
            up_bytes: None,
            down_bytes: None,
        }
    }
}
