//! Untrusted text in, safe text out: for models, for people, for logs; secrets found and masked.
