//! How records hang together: from line to line, and from the end of one file to the start of the
//! next.

use super::chain::{Continued, Mend};
use super::record::{Envelope, Head};
use super::report::{FaultKind, LossKind};
use super::verify::{Scope, Verifier, note};

impl Verifier {
    /// Why this record does not follow the line above it.
    pub(super) fn broken_link(&mut self, envelope: &Envelope) -> Option<FaultKind> {
        let continued = note::<Continued>(envelope, Mend::CONTINUED);
        if self.at_start && self.report.records > 0 {
            return self.broken_seam(envelope, continued);
        }
        let Some(above) = self.above else {
            return self.broken_start(envelope, continued);
        };
        let expected = self.report.head.seq.saturating_add(1);
        if envelope.seq < expected {
            return Some(FaultKind::OutOfOrder { expected });
        }
        if envelope.prev != above && envelope.seq == expected {
            return Some(FaultKind::LineAboveChanged);
        }
        let noted = continued.filter(|it| it.after.seq.checked_add(1) == Some(envelope.seq));
        match noted {
            Some(it) if envelope.prev == above => self.records_lost(it),
            _ if envelope.seq > expected => return Some(FaultKind::Missing { expected }),
            _ => {}
        }
        None
    }

    /// Why the first record of a file does not follow the last one of the file before.
    fn broken_seam(
        &mut self,
        envelope: &Envelope,
        continued: Option<Continued>,
    ) -> Option<FaultKind> {
        let expected = self.report.head.seq.saturating_add(1);
        let above = self.above.is_none_or(|above| above == envelope.prev);
        let it = match continued {
            Some(it) if it.after.seq.checked_add(1) == Some(envelope.seq) => it,
            _ if envelope.seq < expected => return Some(FaultKind::OutOfOrder { expected }),
            _ => return Some(FaultKind::NoStart),
        };
        // A torn first line stands between the two.
        let linked = envelope.prev == it.after.digest || (it.torn.is_some() && above);
        if envelope.seq < expected {
            Some(FaultKind::OutOfOrder { expected })
        } else if !linked || (envelope.seq == expected && it.after != self.report.head) {
            Some(FaultKind::LineAboveChanged)
        } else if envelope.seq > expected && it.why == Mend::ROTATED {
            Some(FaultKind::Missing { expected })
        } else {
            self.records_lost(it);
            None
        }
    }

    fn broken_start(
        &mut self,
        envelope: &Envelope,
        continued: Option<Continued>,
    ) -> Option<FaultKind> {
        let empty = Head::empty();
        if let Some(it) = continued
            && it.after.seq.checked_add(1) == Some(envelope.seq)
            && envelope.prev == it.after.digest
        {
            self.report.continues = Some(it.after);
            if it.why == Mend::ROTATED {
                self.report.rotated = Some(it.after);
            } else if self.scope != Scope::File {
                self.records_lost(it);
            }
            return None;
        }
        let first = envelope.seq == 1 && envelope.prev == empty.digest;
        (!first).then_some(FaultKind::NoStart)
    }

    fn records_lost(&mut self, continued: Continued) {
        let after = self.report.head.seq;
        let known = continued.after.seq;
        if known > after {
            self.lost.push((after, known));
            let why = continued.why;
            self.report.complete = false;
            self.loss(LossKind::Records { after, known, why });
        }
    }
}
