//! The way out of a sandbox: a proxy outside it that accepts on a listener made inside it. One port
//! speaks `CONNECT`, plain HTTP and SOCKS5; a [`Gate`] judges each target before it is looked up,
//! every address is judged before it is dialled, and what passes first must name the same host.

mod gate;
mod limits;
mod refusal;

pub(crate) use gate::{
    Carries, EgressEvent, End, Gate, Judging, Terms, Traffic, Verdict, Wanted, Way,
};
pub(crate) use limits::EgressLimits;
pub(crate) use refusal::Refusal;
