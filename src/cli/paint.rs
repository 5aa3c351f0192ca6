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

    /// How wide standard output is, where a terminal or the person (`COLUMNS`) says it. What is read
    /// by programs is not broken into lines.
    pub(crate) fn given_width() -> Option<usize> {
        let wanted = || std::env::var("COLUMNS").ok()?.parse().ok();
        creance::stdout_width().or_else(wanted)
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

/// Wider than any line that people wrote.
pub(crate) const UNBROKEN: usize = 10_000;

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
        Self::with(&head)
    }

    /// A table with as many columns as this head.
    pub(crate) fn with(head: &[&str]) -> Self {
        Self {
            head: head.iter().map(|name| (*name).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells beyond the head are shown too.
    pub(crate) fn row<const N: usize>(&mut self, cells: [(Tone, &str); N]) {
        let cells = cells.map(|(tone, text)| (tone, text.to_owned()));
        self.cells(cells.to_vec());
    }

    /// The same, of any length.
    pub(crate) fn cells(&mut self, cells: Vec<(Tone, String)>) {
        self.rows.push(cells);
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
                .map(|(_, text)| natural(text))
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

/// Columns of a text's widest line.
pub(crate) fn natural(text: &str) -> usize {
    let lines = creance::wrap_untrusted(text, usize::MAX);
    lines.iter().map(Line::columns).max().unwrap_or(0)
}

/// The lines of a row in columns of these widths: cells that are too wide are wrapped, never cut.
pub(crate) fn row_lines(row: &[(Tone, String)], columns: &[usize]) -> Vec<Line> {
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

/// A text whose lines fit a terminal: what is too long goes on below the column in which it began.
pub(crate) fn folded(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let indent = column_of(line, width / 2);
        let mut at = 0;
        for word in line.split_inclusive(' ') {
            let columns = natural(word.trim_end());
            if at > indent && at + columns > width {
                out.truncate(out.trim_end_matches(' ').len());
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                at = indent;
            }
            out.push_str(word);
            at += columns + (word.len() - word.trim_end().len());
        }
        out.push('\n');
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

/// Where the last column of a line begins: behind the last gap of two blanks in its first part.
fn column_of(line: &str, most: usize) -> usize {
    let indent = line.len() - line.trim_start().len();
    let head: String = line.chars().take(most).collect();
    let gap = head.trim_end().rfind("  ").map(|gap| gap + GAP);
    let column = gap.map_or(0, |at| head.chars().count().min(at));
    column.max(indent + GAP).min(most)
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

    #[test]
    fn long_lines_go_on_below_their_column() {
        let text =
            "backends\n  limits   enforced  one two three four\n  folder /a/b: one two three";
        assert_eq!(
            folded(text, 30),
            "backends\n  limits   enforced  one two\n           three four\n  folder /a/b: one two three"
        );
        assert_eq!(folded(text, 200), text);
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
