//! The way out of a sandbox: a proxy outside it that accepts on a listener made inside it. One port
//! speaks `CONNECT`, plain HTTP and SOCKS5; a [`Gate`] judges each target before it is looked up,
//! every address is judged before it is dialled, and what passes first must name the same host.

mod answer;
mod body;
mod client;
mod connection;
mod dial;
mod exchange;
mod gate;
mod head;
mod hello;
mod limits;
mod listen;
mod meter;
mod outside;
mod proxy;
mod refusal;
mod registry;
mod relay;
mod request;
mod socks;

pub(crate) use gate::{Carries, EgressEvent, End, Gate, Judging, Terms, Traffic, Verdict, Wanted};
pub(crate) use limits::EgressLimits;
pub(crate) use proxy::Proxy;
pub(crate) use refusal::Refusal;

#[cfg(test)]
mod tests;
