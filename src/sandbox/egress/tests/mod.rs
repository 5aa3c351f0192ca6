//! The proxy over loopback sockets: what a name resolves to, and where a public address leads, is
//! said by each test.

mod bench;
mod denials;
mod framing;
mod hellos;
mod limits;
mod machine;
mod plain;
mod real;
mod strangers;
mod tunnels;
mod turns;
