//! The table of public faults: each test that it names is there, and no input lies idle.

use crate::planted::check;
use crate::{Fault, Source};

/// `ID`, the file of a test, its function, and what it holds; one a line.
const TABLE: &str = "tests/cases/sandbox.tsv";

/// Inputs whose ids have to stand in the table.
const INPUTS: &str = "tests/cases/sandbox/";

/// Each row names a function that is there and a file that bears the id; each input has a row.
pub(crate) fn cases(sources: &[Source]) -> Vec<Fault> {
    let Some(table) = sources.iter().find(|source| source.path == TABLE) else {
        return Vec::new();
    };
    let rows = table.text.lines().zip(1..);
    let rows: Vec<(usize, Vec<&str>)> = rows
        .filter(|(line, _)| !line.starts_with('#'))
        .map(|(line, number)| (number, line.split('\t').collect()))
        .collect();
    let mut faults = Vec::new();
    for (number, row) in &rows {
        let held = match row[..] {
            [id, file, function, what] => {
                let source = sources.iter().find(|source| source.path == file);
                let named =
                    |text: &str| text.contains(id) && text.contains(&format!("fn {function}("));
                !what.is_empty() && source.is_some_and(|source| named(&source.text))
            }
            _ => false,
        };
        if !held {
            faults.push(table.fault(
                *number,
                format!("no such test: {}", row.join(", ")),
                "name a function, and the id in its file",
            ));
        }
    }
    let listed = |id: &str| rows.iter().any(|(_, row)| row.first() == Some(&id));
    let inputs = sources.iter().filter_map(|source| {
        let id = source.path.strip_prefix(INPUTS)?.split('.').next()?;
        (!listed(id)).then(|| {
            source.fault(
                1,
                format!("{id} has no test in {TABLE}"),
                "add its row, or delete the input",
            )
        })
    });
    faults.extend(inputs);
    faults
}

#[test]
fn cases_hold() {
    let test = ("tests/a.rs", "/// SBX-01: …\nfn one() {}");
    let input = ("tests/cases/sandbox/SBX-01.probe.sh", "");
    let table = |text| [test, input, ("tests/cases/sandbox.tsv", text)];
    let (row, idle) = (
        "tests/cases/sandbox.tsv:1",
        "tests/cases/sandbox/SBX-01.probe.sh:1",
    );
    for (text, want) in [
        ("SBX-01\ttests/a.rs\tone\tit holds", &[][..]),
        ("SBX-01\ttests/a.rs\ttwo\tit holds", &[row]),
        ("SBX-01\ttests/b.rs\tone\tit holds", &[row]),
        ("SBX-01\ttests/a.rs\tone\t", &[row]),
        ("SBX-02\ttests/a.rs\tone\tit holds", &[row, idle]),
        ("# nothing", &[idle]),
    ] {
        check(cases, &table(text), want);
    }
}
