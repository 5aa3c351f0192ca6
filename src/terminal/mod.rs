//! People: questions at a terminal and over the approval socket.
