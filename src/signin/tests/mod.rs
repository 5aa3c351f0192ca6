//! Sign-ins against scripted sign-in servers: those of public reports, and one of our own.

mod answer;
mod cases;
mod endpoint;
mod flow;
mod gaps;
mod login;
mod play;
mod refresh;
