//! Where one file comes from.

/// Where a file comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// Its `https://` address.
    pub(crate) url: &'a str,
    /// Certificates (PEM) of the authority; those of the system otherwise.
    pub(crate) authority: Option<&'a [u8]>,
    /// The most bytes.
    pub(crate) max: u64,
}
