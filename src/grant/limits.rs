//! What a sandbox may use of the machine, limit by limit, and which limit ended a process.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Limit {
    /// Memory: of each process by itself, and of all of them together.
    Memory,
    /// Processes and threads.
    Processes,
    /// CPU time of the whole tree.
    Cpu,
    /// Time from the start.
    Time,
    /// Size of one file that is written.
    FileSize,
    /// Open files of one process.
    OpenFiles,
    /// What fits into the temporary folder.
    Temp,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Bytes,
    Seconds,
    Number,
}

impl Limit {
    /// Every limit, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::Memory,
        Self::Processes,
        Self::Cpu,
        Self::Time,
        Self::FileSize,
        Self::OpenFiles,
        Self::Temp,
    ];

    /// Its key in configuration files and on the command line.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Cpu => "cpu",
            Self::Time => "time",
            Self::FileSize => "fileSize",
            Self::OpenFiles => "openFiles",
            Self::Temp => "temp",
        }
    }

    /// The limit with this key.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.key() == key)
    }

    /// In words: `memory limit`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Memory => "memory limit",
            Self::Processes => "limit of processes",
            Self::Cpu => "CPU time limit",
            Self::Time => "time limit",
            Self::FileSize => "file size limit",
            Self::OpenFiles => "limit of open files",
            Self::Temp => "limit of its temporary folder",
        }
    }

    /// Whether its value is a plain number.
    #[must_use]
    pub fn counts(self) -> bool {
        self.unit() == Unit::Number
    }

    fn unit(self) -> Unit {
        match self {
            Self::Memory | Self::FileSize | Self::Temp => Unit::Bytes,
            Self::Cpu | Self::Time => Unit::Seconds,
            Self::Processes | Self::OpenFiles => Unit::Number,
        }
    }

    /// Reads a value: `512MiB`, `90s`, `200`.
    ///
    /// # Errors
    /// What a value of this limit looks like.
    pub fn read(self, text: &str) -> Result<u64, &'static str> {
        let digits = text.find(|c: char| !c.is_ascii_digit());
        let (number, unit) = text
            .split_at_checked(digits.unwrap_or(text.len()))
            .unwrap_or((text, ""));
        let (factor, form) = match (self.unit(), unit) {
            (Unit::Bytes, "KiB") => (Some(1 << 10), ""),
            (Unit::Bytes, "MiB") => (Some(1 << 20), ""),
            (Unit::Bytes, "GiB") => (Some(1 << 30), ""),
            (Unit::Bytes, _) => (None, "must be a size such as 512MiB or 2GiB"),
            (Unit::Seconds, "s") => (Some(1), ""),
            (Unit::Seconds, "m") => (Some(60), ""),
            (Unit::Seconds, "h") => (Some(3600), ""),
            (Unit::Seconds, _) => (None, "must be a time such as 90s, 10m or 2h"),
            (Unit::Number, "") => (Some(1), ""),
            (Unit::Number, _) => (None, NUMBER),
        };
        let factor: u64 = factor.ok_or(form)?;
        let fits = (1..=DIGITS_MAX).contains(&number.len()) && !number.starts_with('0');
        let number: u64 = number.parse().ok().filter(|_| fits).ok_or(NUMBER)?;
        Ok(number * factor)
    }

    /// A value in the form in which it is read.
    #[must_use]
    pub fn show(self, value: u64) -> String {
        let units: &[(u64, &str)] = match self.unit() {
            Unit::Bytes => &[
                (1 << 30, " GiB"),
                (1 << 20, " MiB"),
                (1 << 10, " KiB"),
                (1, " bytes"),
            ],
            Unit::Seconds => &[(3600, " h"), (60, " min"), (1, " s")],
            Unit::Number => &[(1, "")],
        };
        let unit = units.iter().find(|(size, _)| value.is_multiple_of(*size));
        let (size, name) = unit.unwrap_or(&(1, ""));
        format!("{}{name}", value / size)
    }
}

const NUMBER: &str = "must be a whole number from 1 to 999999";
const DIGITS_MAX: usize = 6;

/// Limits of one sandbox. `None` means no limit of our own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory of one process, in bytes: the kernel gives it no more.
    pub memory_bytes: Option<u64>,
    /// Memory of all processes together, in bytes; `None`: half of the machine's. Held by the kernel
    /// where a cgroup is delegated, else watched.
    pub tree_bytes: Option<u64>,
    /// Processes and threads of the tree.
    pub processes: Option<u64>,
    /// CPU time of one process, in seconds: held by the kernel.
    pub cpu_s: Option<u64>,
    /// CPU time of all processes together, in seconds: watched.
    pub tree_cpu_s: Option<u64>,
    /// Time from the start, in seconds.
    pub time_s: Option<u64>,
    /// Size of one file that is written, in bytes.
    pub file_bytes: Option<u64>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// What fits into the temporary folder, in bytes, which then lies in memory.
    pub temp_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: Some(4 << 30),
            tree_bytes: None,
            processes: Some(512),
            cpu_s: None,
            tree_cpu_s: None,
            time_s: None,
            file_bytes: Some(1 << 30),
            open_files: Some(4096),
            temp_bytes: None,
        }
    }
}

impl Limits {
    /// Sets one limit. Those of memory and CPU time hold for each process and for all together.
    pub fn set(&mut self, limit: Limit, value: u64) {
        match limit {
            Limit::Memory => self.tree_bytes = Some(value),
            Limit::Cpu => self.tree_cpu_s = Some(value),
            _ => {}
        }
        *self.slot(limit) = Some(value);
    }

    fn slot(&mut self, limit: Limit) -> &mut Option<u64> {
        match limit {
            Limit::Memory => &mut self.memory_bytes,
            Limit::Processes => &mut self.processes,
            Limit::Cpu => &mut self.cpu_s,
            Limit::Time => &mut self.time_s,
            Limit::FileSize => &mut self.file_bytes,
            Limit::OpenFiles => &mut self.open_files,
            Limit::Temp => &mut self.temp_bytes,
        }
    }

    /// The value of one limit.
    #[must_use]
    pub fn get(&self, limit: Limit) -> Option<u64> {
        *self.clone().slot(limit)
    }

    /// The limits that differ from the default ones, in words.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        let default = Self::default();
        let differs = |limit: &Limit| self.get(*limit) != default.get(*limit);
        let shown = |limit: Limit| {
            let value = self
                .get(limit)
                .map_or_else(|| "none".to_owned(), |value| limit.show(value));
            format!("{} {value}", limit.key())
        };
        Limit::ALL.into_iter().filter(differs).map(shown).collect()
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitHit {
    /// Which one.
    pub limit: Limit,
    /// Its value, in bytes, seconds or pieces.
    pub value: u64,
}

impl fmt::Display for LimitHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {}",
            self.limit.words(),
            self.limit.show(self.value)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_shown() {
        let check = |limit: Limit, text: &str, want: Option<(u64, &str)>| {
            let got = limit
                .read(text)
                .ok()
                .map(|value| (value, limit.show(value)));
            let got = got.as_ref().map(|(value, shown)| (*value, shown.as_str()));
            assert_eq!(got, want, "{} {text:?}", limit.key());
        };
        check(Limit::Memory, "2GiB", Some((2 << 30, "2 GiB")));
        check(Limit::Memory, "1536MiB", Some((1536 << 20, "1536 MiB")));
        check(Limit::Memory, "1024KiB", Some((1 << 20, "1 MiB")));
        check(
            Limit::Temp,
            "999999GiB",
            Some((999_999 << 30, "999999 GiB")),
        );
        check(Limit::Cpu, "90s", Some((90, "90 s")));
        check(Limit::Time, "120m", Some((7200, "2 h")));
        check(Limit::Processes, "200", Some((200, "200")));
        for bad in [
            "",
            "0",
            "2",
            "2G",
            "2 GiB",
            "-1GiB",
            "1.5GiB",
            "0GiB",
            "1000000MiB",
            "GiB",
            "２GiB",
            "02GiB",
        ] {
            check(Limit::Memory, bad, None);
        }
        for bad in ["", "60", "60ms", "0s", "1d"] {
            check(Limit::Cpu, bad, None);
        }
        for bad in ["", "0", "1k", "1000000"] {
            check(Limit::OpenFiles, bad, None);
        }
    }

    #[test]
    fn what_is_asked_is_what_differs() {
        let mut limits = Limits::default();
        assert!(limits.asked().is_empty());
        limits.set(Limit::Memory, 2 << 30);
        limits.set(Limit::Time, 60);
        assert_eq!(limits.asked(), ["memory 2 GiB", "time 1 min"]);
        assert_eq!(limits.tree_bytes, Some(2 << 30));
        let hit = LimitHit {
            limit: Limit::Memory,
            value: 2 << 30,
        };
        assert_eq!(hit.to_string(), "memory limit of 2 GiB");
    }
}
