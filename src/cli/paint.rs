//! How output looks: colours only for a terminal that wants them, the width, tables.

use std::io::IsTerminal as _;

use creance::{Colour, Line, Tone};

/// Colours and width of an output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    pub(crate) colour: Colour,
    pub(crate) width: usize,
}

impl Paint {
    /// What standard output shows.
    pub(crate) fn for_stdout() -> Self {
        let set = |name| {
            let value = std::env::var_os(name).unwrap_or_default();
            value.to_string_lossy().into_owned()
        };
        let terminal = std::io::stdout().is_terminal().then(|| set("TERM"));
        Self {
            colour: colour(terminal.as_deref(), &set("NO_COLOR")),
            width: creance::stdout_width().unwrap_or(WIDTH),
        }
    }

    /// The lines as text.
    pub(crate) fn text(self, lines: &[Line]) -> String {
        let line = |line: &Line| match self.colour {
            Colour::Plain => format!("{line}\n"),
            Colour::Ansi => line.coloured() + "\n",
        };
        lines.iter().map(line).collect()
    }
}

/// Where no terminal says how wide it is.
const WIDTH: usize = 80;

/// `terminal` is its kind (`TERM`), if it is one. See no-color.org: any value of `NO_COLOR` but the empty one means no.
fn colour(terminal: Option<&str>, no_color: &str) -> Colour {
    match terminal {
        Some(kind) if kind != "dumb" && no_color.is_empty() => Colour::Ansi,
        _ => Colour::Plain,
    }
}

/// A table: a head and rows. Cells may hold any text.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<(Tone, String)>>,
}

/// Blanks between columns.
const GAP: usize = 2;
/// No column is narrower, however narrow the terminal.
const COLUMN_MIN: usize = 24;

impl Table {
    pub(crate) fn new<const N: usize>(head: [&str; N]) -> Self {
        Self {
            head: head.map(str::to_owned).to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells beyond the head are shown too.
    pub(crate) fn row<const N: usize>(&mut self, cells: [(Tone, &str); N]) {
        let cells = cells.map(|(tone, text)| (tone, text.to_owned()));
        self.rows.push(cells.to_vec());
    }

    /// The table at this width: cells that are too wide are wrapped, never cut.
    pub(crate) fn lines(&self, width: usize) -> Vec<Line> {
        let head = self.head.iter().map(|h| (Tone::Label, h.clone())).collect();
        let rows: Vec<Vec<(Tone, String)>> = std::iter::once(head)
            .chain(self.rows.iter().cloned())
            .collect();
        let columns = column_widths(&rows, width);
        rows.iter()
            .flat_map(|row| row_lines(row, &columns))
            .collect()
    }
}

/// Every column as wide as its widest cell; when that is too much, the widest ones share what the
/// others leave.
fn column_widths(rows: &[Vec<(Tone, String)>], width: usize) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut columns: Vec<usize> = (0..count)
        .map(|at| {
            rows.iter()
                .filter_map(|row| row.get(at))
                .map(natural)
                .max()
                .unwrap_or(0)
        })
        .collect();
    let room = width.saturating_sub(GAP * count.saturating_sub(1));
    while columns.iter().sum::<usize>() > room {
        let over = columns.iter().sum::<usize>() - room;
        let Some(widest) = columns.iter_mut().max().filter(|c| **c > COLUMN_MIN) else {
            break;
        };
        *widest -= over.min(*widest - COLUMN_MIN).clamp(1, 4);
    }
    columns
}

fn natural((_, text): &(Tone, String)) -> usize {
    let lines = creance::wrap_untrusted(text, usize::MAX);
    lines.iter().map(Line::columns).max().unwrap_or(0)
}

fn row_lines(row: &[(Tone, String)], columns: &[usize]) -> Vec<Line> {
    let cells: Vec<(Tone, usize, Vec<Line>)> = row
        .iter()
        .zip(columns)
        .map(|((tone, text), width)| (*tone, *width, creance::wrap_untrusted(text, *width)))
        .collect();
    let height = cells.iter().map(|(_, _, lines)| lines.len()).max();
    (0..height.unwrap_or(0))
        .map(|at| cells_line(&cells, at))
        .collect()
}

/// Line `at` of a row: its part of every cell, padded up to the next part.
fn cells_line(cells: &[(Tone, usize, Vec<Line>)], at: usize) -> Line {
    let mut line = Line::default();
    let mut start = 0;
    for (tone, width, lines) in cells {
        let text = lines.get(at).map(Line::to_string).unwrap_or_default();
        let text = text.trim_end();
        if !text.is_empty() {
            line.push(Tone::Plain, &" ".repeat(start - line.columns().min(start)));
            line.push(*tone, text);
        }
        start += width + GAP;
    }
    line
}

/// How the library paints records for this output.
pub(crate) fn audit_paint(paint: Paint) -> creance::Paint {
    match paint.colour {
        Colour::Plain => creance::Paint::Plain,
        Colour::Ansi => creance::Paint::Ansi,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        assert_eq!(colour(Some("xterm"), ""), Colour::Ansi);
        assert_eq!(colour(None, ""), Colour::Plain);
        assert_eq!(colour(Some("xterm"), "1"), Colour::Plain);
        assert_eq!(colour(Some("xterm"), "0"), Colour::Plain);
        assert_eq!(colour(Some("dumb"), ""), Colour::Plain);
    }

    fn table(rows: &[[&str; 3]], width: usize) -> Vec<String> {
        let mut table = Table::new(["server", "state", "why"]);
        for row in rows {
            table.row(row.map(|cell| (Tone::Plain, cell)));
        }
        table.lines(width).iter().map(Line::to_string).collect()
    }

    #[test]
    fn tables_line_up() {
        let got = table(
            &[
                ["files", "connected", ""],
                ["memory-store", "denied", "policy user/x"],
            ],
            80,
        );
        assert_eq!(
            got,
            [
                "server        state      why",
                "files         connected",
                "memory-store  denied     policy user/x",
            ]
        );
    }

    #[test]
    fn wide_cells_wrap_and_hostile_ones_stay_in_their_row() {
        let why = "the program has changed since it was agreed to\u{1b}[2J\u{202e}";
        let got = table(&[["files", "waiting", why]], 60);
        assert_eq!(
            got,
            [
                "server  state    why",
                "files   waiting  the program has changed since it was",
                "                 agreed to<escape>[2J<U+202E>",
            ]
        );
        assert!(got.iter().all(|line| line.chars().count() <= 60));
    }
}
