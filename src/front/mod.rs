//! The gateway over Streamable HTTP: one endpoint, `/mcp`, for clients of both eras. It checks who
//! knocks, turns requests into messages for a gateway and routes what that says back to the stream it
//! belongs to. It judges no call, and has never heard of servers.

mod batch;
mod connections;
mod doors;
mod endpoint;
mod era;
mod headers;
mod listen;
mod pipe;
mod reply;
mod route;
mod session;
mod sessions;
mod stream;
mod tokens;

pub(crate) use doors::Doors;
pub(crate) use listen::Front;
pub(crate) use sessions::{Opened, Opener};
pub(crate) use tokens::{Principal, Tokens, new_token};

#[cfg(test)]
mod tests;
