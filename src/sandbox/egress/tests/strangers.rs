//! The whole proxy against bytes of every kind.
