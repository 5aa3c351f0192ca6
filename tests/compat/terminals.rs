//! Terminals that programs open for themselves.

use crate::stage::{Line, check};
use crate::tools::{PYTHON, SCRIPT};

#[test]
fn own_terminals() {
    check(&[
        Line::new(
            "python pty",
            &[PYTHON],
            r#"cat > p.py <<'END'
import os, pty
child, terminal = pty.fork()
if child == 0: os.execvp("sh", ["sh", "-c", "tty && stty size && test -t 0 && echo a terminal"])
said = b""
try:
    while part := os.read(terminal, 1000): said += part
except OSError: pass
print(said.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
END
python3 p.py"#,
            &["/dev/pts/0", "a terminal", " 0"],
        ),
        Line::new(
            "script",
            &[SCRIPT],
            "script -qec 'tty; echo in a terminal; exit 7' /dev/null || echo code $?",
            &["/dev/pts/0", "in a terminal", "code 7"],
        ),
    ]);
}
