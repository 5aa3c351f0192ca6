//! `creance serve --http` from the outside: what a client may and may not do, and what is left when it
//! goes.

mod doors;
mod served;
mod streams;
