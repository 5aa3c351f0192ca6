//! Python: environments, processes, terminals of its own, pytest.

use crate::real::need;
use crate::stage::{self, Line, Stage, check};
use crate::tools::{self, PYTHON, User};

#[test]
fn environments() {
    check(&[Line::new(
        "python venv",
        &[PYTHON],
        "python3 -m venv .venv && .venv/bin/python -c 'import sys; print(sys.prefix)'
         .venv/bin/pip --version",
        &["project/.venv", "pip "],
    )]);
}

#[test]
fn processes() {
    check(&[
        Line::new(
            "python multiprocessing",
            &[PYTHON],
            r#"cat > m.py <<'END'
import multiprocessing as m, os
from multiprocessing import shared_memory
if __name__ == "__main__":
    for how in ("fork", "spawn"):
        with m.get_context(how).Pool(2) as pool:
            print(how, pool.map(abs, [-1, -2]))
    memory = shared_memory.SharedMemory(create=True, size=100)
    memory.close(); memory.unlink()
    lock, value = m.Lock(), m.Value("i", 7)
    with lock: print("value", value.value)
END
python3 m.py"#,
            &["fork [1, 2]", "spawn [1, 2]", "value 7"],
        ),
        Line::new(
            "python threads, subprocesses and asyncio",
            &[PYTHON],
            r#"cat > a.py <<'END'
import asyncio, concurrent.futures as f, sqlite3, subprocess
async def main():
    server = await asyncio.start_server(lambda r, w: (w.write(b"served\n"), w.close()), "127.0.0.1", 0)
    reader, _ = await asyncio.open_connection(*server.sockets[0].getsockname())
    print(await reader.readline())
    child = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    print(await child.stdout.read())
asyncio.run(main())
with f.ThreadPoolExecutor(100) as pool: print(sum(pool.map(abs, range(-200, 0))))
base = sqlite3.connect("x.db"); base.execute("pragma journal_mode=wal")
base.execute("create table t (a)"); base.commit(); print("sqlite")
END
python3 a.py"#,
            &["b'served\\n'", "b'child\\n'", "20100", "sqlite"],
        ),
        // Its server of forks listens on a Unix socket: Python's own choice from 3.14 on.
        Line {
            options: &["--sockets"],
            ..Line::new(
                "python forkserver",
                &[PYTHON],
                r#"cat > f.py <<'END'
import multiprocessing as m
if __name__ == "__main__":
    with m.get_context("forkserver").Pool(2) as pool: print(pool.map(abs, [-1, -2]))
END
python3 f.py"#,
                &["[1, 2]"],
            )
        },
    ]);
}

#[test]
fn watching() {
    check(&[Line::new(
        "inotify",
        &[PYTHON],
        r#"cat > i.py <<'END'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init1(0o2000000)
assert watch >= 0 and libc.inotify_add_watch(watch, b".", 0x100) >= 0, ctypes.get_errno()
open("new.txt", "w").close()
print(b"new.txt" in os.read(watch, 4096))
END
python3 i.py"#,
        &["True"],
    )]);
}

#[test]
fn pytest() {
    const TEST: &str = "pytest";
    for user in User::all() {
        let Some(found) = stage::tools(TEST, &[PYTHON], user) else {
            continue;
        };
        let Some(packages) = need(tools::pytest(&found[0].program), TEST) else {
            continue;
        };
        let stage = Stage::new(user, found);
        stage.write(
            "home/project/test_it.py",
            "import os, pytest\n\n\
             def test_right(tmp_path, monkeypatch, capsys):\n    \
                 (tmp_path / 'x').write_text('x')\n    monkeypatch.chdir(tmp_path)\n    \
                 print(os.listdir())\n    assert capsys.readouterr().out == \"['x']\\n\"\n\n\
             def test_wrong():\n    assert 1 == 2\n",
        );
        let program = packages.program("pytest");
        let (folder, program) = (packages.folder.display(), program.display());
        let options = ["--read", &folder.to_string()];
        let (code, said) = stage.run(
            &options,
            &format!("{program} -q -p no:cacheprovider || true"),
        );
        assert_eq!(code, Some(0), "{user:?}: {said}");
        assert!(said.contains("1 failed, 1 passed"), "{user:?}: {said}");
        let (code, said) = stage.run(&options, &format!("{program} -q -k right"));
        assert_eq!(code, Some(0), "{user:?}: {said}");
        assert!(stage.project.join(".pytest_cache").exists());
    }
}
