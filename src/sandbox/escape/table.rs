//! The table of escapes: one row an attempt, read from `escapes.tsv`.

use crate::grant::Guarantee;
use crate::sandbox::plan::Backend;

/// The table.
const TABLE: &str = include_str!("escapes.tsv");

/// What must become of an attempt in one backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// It is stopped.
    Stopped,
    /// It works: a sandbox that breaks it is switched off by its users.
    Works,
    /// It may get through, and then the row's guarantee must be reported as less than enforced.
    Weak,
    /// Without a sandbox, as root only.
    WorksForRoot,
    /// It is not tried here.
    Untried,
}

/// Who tries a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The probe inside the sandbox.
    Probe,
    /// The host, which starts sandboxes and looks at itself.
    Host,
    /// A test of the project, by its name: it needs what a person's machine should not be put through.
    Test(&'static str),
    /// Nobody here: the reason.
    Nobody(&'static str),
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) id: &'static str,
    /// The guarantee that it attacks.
    pub(crate) promise: Option<Guarantee>,
    /// Where it comes from.
    pub(crate) from: &'static str,
    /// Who tries it.
    pub(crate) by: By,
    /// What is tried.
    pub(crate) tried: &'static str,
    wants: [Want; 5],
}

impl Row {
    /// What must become of it in a backend.
    pub(crate) fn want(&self, backend: Backend) -> Want {
        let at = COLUMNS.iter().position(|column| *column == backend);
        let want = at.and_then(|at| self.wants.get(at));
        want.copied().unwrap_or(Want::Untried)
    }
}

/// The backends in the order of the table's columns.
const COLUMNS: [Backend; 5] = [
    Backend::LinuxL3,
    Backend::LinuxNs,
    Backend::LinuxNsNoproc,
    Backend::LinuxLandlock,
    Backend::None,
];

/// Every row, in the order in which they are tried.
pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let lines = TABLE.lines().zip(1..);
    let rows = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    rows.map(|(line, at)| parse(line).map_err(|why| format!("escapes.tsv:{at}: {why}")))
        .collect()
}

fn parse(line: &'static str) -> Result<Row, String> {
    let fields: Vec<&'static str> = line.split('\t').collect();
    let [id, promise, from, l3, ns, noproc, landlock, none, by, tried] = *fields else {
        return Err(format!("{} fields, 10 are wanted", fields.len()));
    };
    Ok(Row {
        id,
        promise: guarantee(promise)?,
        from,
        by: who(by)?,
        tried,
        wants: [
            want(l3)?,
            want(ns)?,
            want(noproc)?,
            want(landlock)?,
            want(none)?,
        ],
    })
}

fn guarantee(name: &str) -> Result<Option<Guarantee>, String> {
    if name == "-" {
        return Ok(None);
    }
    let found = Guarantee::ALL.into_iter().find(|one| one.name() == name);
    found
        .map(Some)
        .ok_or_else(|| format!("no guarantee `{name}`"))
}

fn want(word: &str) -> Result<Want, String> {
    Ok(match word {
        "no" => Want::Stopped,
        "yes" => Want::Works,
        "weak" => Want::Weak,
        "root" => Want::WorksForRoot,
        "-" => Want::Untried,
        other => return Err(format!("`{other}` is no outcome")),
    })
}

fn who(by: &'static str) -> Result<By, String> {
    Ok(match by.split_once(' ') {
        Some(("test", name)) => By::Test(name),
        Some(("nobody:", why)) => By::Nobody(why),
        None if by == "probe" => By::Probe,
        None if by == "host" => By::Host,
        _ => return Err(format!("nobody is called `{by}`")),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_is_whole() {
        let rows = rows().unwrap();
        let ids: BTreeSet<&str> = rows.iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), rows.len(), "two rows of one name");
        let from: BTreeSet<&str> = rows.iter().flat_map(|row| row.from.split(' ')).collect();
        for (prefix, most) in [("E", 34), ("P", 27)] {
            for number in 1..=most {
                let name = format!("{prefix}{number}");
                assert!(from.contains(name.as_str()), "{name} has no row");
            }
        }
        for case in [
            "01", "03", "04", "06", "07", "08", "10", "11", "13", "14", "16", "17",
        ] {
            let name = format!("SBX-{case}");
            assert!(from.contains(name.as_str()), "{name} has no row");
        }
        for row in &rows {
            assert!(!row.tried.is_empty(), "{}: says nothing", row.id);
            for word in row.from.split(' ') {
                let known =
                    word == "own" || word.starts_with(['E', 'P']) || word.starts_with("SBX-");
                assert!(known, "{}: `{word}` is no source", row.id);
            }
        }
    }

    /// A row may be weak only where a guarantee is there to be reported as weakened.
    #[test]
    fn what_is_weak_is_promised_by_name() {
        for row in rows().unwrap() {
            let weak = row.wants.contains(&Want::Weak);
            assert!(!weak || row.promise.is_some(), "{}", row.id);
            assert!(
                !row.wants[..4].contains(&Want::WorksForRoot) && row.wants[4] != Want::Weak,
                "{}",
                row.id
            );
        }
    }
}
