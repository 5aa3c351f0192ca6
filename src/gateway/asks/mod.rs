//! What servers ask back, between them and the client.

mod desk;

pub(super) use desk::Desk;
