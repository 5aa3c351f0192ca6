//! The sheet of a question: details and warnings, cleaned, nothing cut silently.

use crate::address::HostName;
use crate::clean;
use crate::grant::{Confinement, Grant, Guarantee, Level, Network};
use crate::request::{Asked, Detail, Wish};

/// Longest field shown on one line, in characters.
pub(super) const LINE: usize = 4_000;

/// Collects details; keeps note whether everything could be shown.
pub(super) struct Sheet {
    pub(super) asked: Asked,
}

impl Sheet {
    pub(super) fn new(title: String) -> Self {
        Self {
            asked: Asked {
                title,
                complete: true,
                ..Asked::default()
            },
        }
    }

    pub(super) fn line(&mut self, label: &str, text: &str) {
        if !text.is_empty() {
            let shown = self.one_line(text);
            self.asked.details.push(Detail::new(label, shown));
        }
    }

    /// A value on one line. One that is cut is not shown whole, and cannot be agreed to.
    pub(super) fn one_line(&mut self, text: &str) -> String {
        let shown = clean::line(text, LINE);
        self.asked.complete &= shown == clean::line(text, usize::MAX);
        shown
    }

    pub(super) fn full(&mut self, label: &str, text: &str) {
        let shown = clean::person(text);
        self.asked.complete &= shown.complete;
        if shown.marks > 0 {
            self.warn(&format!(
                "{label}: {} hidden or odd characters are marked",
                shown.marks
            ));
        }
        self.asked.details.push(Detail::new(label, shown.text));
    }

    pub(super) fn lines(&mut self, label: &str, lines: &[String]) {
        if !lines.is_empty() {
            let cleaned: Vec<String> = lines.iter().map(|line| self.one_line(line)).collect();
            self.asked
                .details
                .push(Detail::new(label, cleaned.join("\n")));
        }
    }

    pub(super) fn warn(&mut self, text: &str) {
        self.asked.warnings.push(clean::line(text, LINE));
    }

    pub(super) fn grant(&mut self, grant: &Grant, wishes: &[Wish]) {
        let of = |pick: fn(&Wish) -> Option<&str>| -> Vec<String> {
            wishes.iter().filter_map(pick).map(str::to_owned).collect()
        };
        self.lines(
            "reads",
            &of(|wish| match wish {
                Wish::Read(path) => Some(&path.text),
                _ => None,
            }),
        );
        self.lines(
            "writes",
            &of(|wish| match wish {
                Wish::Write(path) => Some(&path.text),
                _ => None,
            }),
        );
        self.lines(
            "unix sockets",
            &of(|wish| match wish {
                Wish::Socket(path) => Some(&path.text),
                _ => None,
            }),
        );
        match grant.network {
            Network::None => self.line("network", "none"),
            Network::Whole => {
                self.line("network", "the whole network: data can leave this machine");
            }
            Network::Hosts => self.hosts(wishes),
        }
        self.line("limits", &grant.limits.asked().join(", "));
    }

    pub(super) fn hosts(&mut self, wishes: &[Wish]) {
        let hosts = wishes.iter().filter_map(|wish| match wish {
            Wish::Network(network) => Some(network.to_string()),
            _ => None,
        });
        let hosts: Vec<String> = hosts.collect();
        self.lines("network", &hosts);
        self.line("any other host", "is asked about when it is first wanted");
    }

    pub(super) fn host_name(&mut self, host: &HostName) {
        if let Some(readable) = host.in_other_letters() {
            self.line("in other letters", &readable);
            self.warn(
                "the name has letters of other scripts, which can look like those of another name",
            );
        }
        if host.address().is_some() {
            self.warn("it is an address without a name, so nothing tells whose it is");
        }
    }

    pub(super) fn confinement(&mut self, confinement: &Confinement, network: Network) {
        self.line("sandbox", &confinement.to_string());
        let mut wanted = vec![Guarantee::Writes, Guarantee::Secrets, Guarantee::Network];
        if network == Network::Hosts {
            wanted.push(Guarantee::NetworkPerHost);
        }
        for guarantee in wanted {
            let why = match confinement.levels.get(&guarantee) {
                Some(Level::Enforced { .. }) => continue,
                Some(Level::Weakened { why, .. } | Level::Absent { why }) => why.as_str(),
                None => "not given by this sandbox",
            };
            self.warn(&format!(
                "the sandbox does not hold `{}`: {why}",
                guarantee.name()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(text: &str) -> bool {
        let mut sheet = Sheet::new(String::new());
        sheet.line("program", "/bin/x");
        sheet.lines("reads", &[text.to_owned()]);
        sheet.asked.complete
    }

    #[test]
    fn a_line_that_is_cut_cannot_be_agreed_to() {
        assert!(complete(&"x".repeat(LINE)));
        assert!(!complete(&"x".repeat(LINE + 1)));
        // Marks are longer than what they stand for.
        assert!(!complete(&"\u{200b}".repeat(LINE / 2)));
    }
}
