//! The relay, against scripted servers that misbehave as real ones were seen to (`played`) and
//! against streams in memory (`piped`).

mod deaf;
mod downstream;
mod holds;
mod modern;
mod piped;
mod play;
mod played;
mod played_tools;
