//! What servers ask back, through the gateway: what reaches the client, what comes back, what does
//! not pass, and what is on record.

mod forms;
mod links;
mod models;
mod modern;
mod offers;
mod real;
mod talk;
