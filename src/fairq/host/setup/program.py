"""The program behind the narrow verb: a script that root owns, and a copy of fairq if the installed one is unsafe."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

import fairq
from fairq.host.setup.installation import command, interpreter_for_a_copy, parts
from fairq.host.setup.layout import BY_SOCKET, COPY, LIBRARY, LINK, MARK, PROGRAM, SITE, STARTER, STATE
from fairq.host.setup.owners import weakness_below
from fairq.host.setup.plan import Rollback, Step, is_file, make_directories, put, run

_OWN_LINK = LIBRARY / "fairq"
_EVERYBODYS_PATH = "/usr/local/bin:/usr/bin:/bin"


def head(python: Path | str, comment: str) -> str:
    """Return the beginning of a program for the interpreter *python*, for a caller with any descriptors.

    Python fails with its own error if a standard stream is a directory, so the shell closes it first.
    """
    return f"""\
#!/bin/sh
# {MARK}
# {comment}
# The shell runs the next five lines; for Python, they are a text.
\"\"\":"
[ ! -d /dev/fd/0 ] || exec 0<&-
[ ! -d /dev/fd/1 ] || exec 1>&-
[ ! -d /dev/fd/2 ] || exec 2>&-
exec {python} -I "$0" "$@"
":\"\"\"
import sys

sys.dont_write_bytecode = True
"""


class Installation(Struct):
    """The fairq that the pool of the host runs: the installed one, or a copy of it because of *reason*."""

    reason: str | None

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return COPY / "bin" / "python" if self.reason else Path(sys.executable)

    @property
    def command(self) -> Path:
        """Its command ``fairq``."""
        return COPY / "bin" / "fairq" if self.reason else command()

    @property
    def script(self) -> str:
        """The content of the program for changes. It takes no paths from its caller."""
        return (
            head(
                self.python,
                "Changes the pool of this host for whoever asks. sudo allows no argument; the socket unit gives one.",
            )
            + f"""\
from pathlib import Path

from fairq.host.verb.main import main

sys.exit(main(Path("{STATE}"), Path("{SITE}"), by_socket=sys.argv[1:] == ["{BY_SOCKET}"]))
"""
        )

    @property
    def starter(self) -> str:
        """The content of the program of root that starts jobs as their owners."""
        return (
            head(self.python, "Starts the jobs that the pool of this host has matched, as their owners.")
            + f"""\
from fairq.launch.root.main import main

sys.exit(main("{SITE}"))
"""
        )

    def steps(self, starts: bool) -> list[Step]:
        """Return the steps that install it; with *starts*, also the program that starts jobs.

        Raises HostPoolError if it has to be copied and cannot be.
        """
        if self.reason:
            interpreter_for_a_copy()
        copy = Step(
            f"install a copy of fairq {fairq.__version__} in {COPY}, since {self.reason}",
            not self.reason or _is_complete(),
            _copy,
        )
        script = Step(
            f"install the program that makes changes: {PROGRAM}",
            is_file(PROGRAM, self.script, 0o755),
            lambda rollback: put(PROGRAM, self.script, 0o755, rollback),
        )
        link = Step(
            f"let everybody find the command: link {LINK} -> {self.command}",
            shutil.which("fairq", path=_EVERYBODYS_PATH) is not None,
            self._link,
        )
        starter = Step(
            f"install the program that starts jobs as their owners: {STARTER}",
            is_file(STARTER, self.starter, 0o755),
            lambda rollback: put(STARTER, self.starter, 0o755, rollback),
        )
        return [*([copy] if self.reason else []), script, *([starter] if starts else []), link]

    def _link(self, rollback: Rollback) -> None:
        """Link in two steps: when the pool is removed, a link into the library is recognised as fairq's own."""
        for link, target in ((_OWN_LINK, self.command), (LINK, _OWN_LINK)):
            make_directories(link.parent, rollback)
            link.unlink(missing_ok=True)  # a link to nothing: `which` found no command
            link.symlink_to(target)
            rollback.add(str(link), link.unlink)


def _command() -> str:
    return f"#!{COPY / 'bin' / 'python'} -I\nimport sys\n\nfrom fairq.__main__ import main\n\nsys.exit(main())\n"


def _packages() -> Path:
    return next(COPY.glob("lib/python3*/site-packages"), COPY / "lib")


def _is_complete() -> bool:
    """Return whether the copy has exactly the files of the running fairq, and only root can change it."""
    packages = _packages()
    sources = parts()
    existing = {file.relative_to(packages) for file in packages.rglob("*") if file.is_file() and file.suffix != ".pyc"}
    return (
        existing == sources.keys()
        and all(_same(packages / name, source) for name, source in sources.items())
        and is_file(COPY / "bin" / "fairq", _command(), 0o755)
        and weakness_below(COPY) is None
    )


def _same(copy: Path, original: Path) -> bool:
    first, second = copy.stat(), original.stat()
    return (first.st_size, first.st_mtime_ns) == (second.st_size, second.st_mtime_ns)


def _copy(rollback: Rollback) -> None:
    """Build the copy beside the former one, then exchange them."""
    python = interpreter_for_a_copy()
    make_directories(LIBRARY, rollback)
    new, former = COPY.with_name("venv.new"), COPY.with_name("venv.former")
    for path in (new, former):
        shutil.rmtree(path, ignore_errors=True)
    rollback.add(str(new), lambda: shutil.rmtree(new, ignore_errors=True))
    run(python, "-I", "-m", "venv", "--without-pip", new)
    packages = next(new.glob("lib/python3*/site-packages"))
    for name, path in parts().items():
        target = packages / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        shutil.copystat(path, target)
    (new / "bin" / "fairq").write_text(_command())
    for path in (new, *new.rglob("*")):
        if not path.is_symlink():
            is_open = path.is_dir() or path.parent == new / "bin"
            path.chmod(0o755 if is_open else 0o644)
    run(python, "-I", "-m", "compileall", "-q", "-s", new, "-p", COPY, packages)
    for path in new.rglob("__pycache__/*"):
        path.chmod(0o644)
    for path in new.rglob("__pycache__"):
        path.chmod(0o755)
    if COPY.exists():
        COPY.rename(former)
    new.rename(COPY)
    rollback.add(str(COPY), lambda: _exchange(former))
    rollback.add_cleanup(lambda: shutil.rmtree(former, ignore_errors=True))


def _exchange(former: Path) -> None:
    shutil.rmtree(COPY)
    if former.exists():
        former.rename(COPY)


def removing() -> list[Step]:
    """Return the steps that remove the program, the copy, and the link to it."""
    is_ours = LINK.is_symlink() and LINK.readlink() == _OWN_LINK
    return [
        Step(f"remove the link {LINK}", not is_ours, lambda rollback: LINK.unlink()),
        Step(
            f"remove the programs in {LIBRARY}, and the copy of fairq if there is one",
            not LIBRARY.exists(),
            lambda rollback: _remove(),
        ),
    ]


def _remove() -> None:
    for path in (PROGRAM, STARTER, _OWN_LINK):
        path.unlink(missing_ok=True)
    for path in LIBRARY.glob("venv*"):
        shutil.rmtree(path)
    with suppress(OSError):  # somebody has put something else there
        LIBRARY.rmdir()
