"""The program behind the narrow verb: a script of root's, and a copy of fairq where the installed one is not."""

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
from fairq.host.setup.plan import Step, WayBack, is_file, make_directories, put, run

_OWN_LINK = LIBRARY / "fairq"
_EVERYBODYS_PATH = "/usr/local/bin:/usr/bin:/bin"


def head(python: Path | str, comment: str) -> str:
    """Return the beginning of a program for the interpreter *python*, whatever the descriptors of its caller.

    Python ends with an error of its own if one of the standard streams is a directory; the shell closes it before.
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
    """Which fairq the pool of the host runs: the installed one, or a copy of it because of *reason*."""

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
        """Return the steps that install it; with *starts*, the program that starts jobs, too.

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
            lambda back: put(PROGRAM, self.script, 0o755, back),
        )
        link = Step(
            f"let everybody find the command: link {LINK} -> {self.command}",
            shutil.which("fairq", path=_EVERYBODYS_PATH) is not None,
            self._link,
        )
        starter = Step(
            f"install the program that starts jobs as their owners: {STARTER}",
            is_file(STARTER, self.starter, 0o755),
            lambda back: put(STARTER, self.starter, 0o755, back),
        )
        return [*([copy] if self.reason else []), script, *([starter] if starts else []), link]

    def _link(self, back: WayBack) -> None:
        """Link in two steps: a link into the library is known as fairq's own when the pool is removed."""
        for link, target in ((_OWN_LINK, self.command), (LINK, _OWN_LINK)):
            make_directories(link.parent, back)
            link.unlink(missing_ok=True)  # a link to nothing: `which` found no command
            link.symlink_to(target)
            back.add(str(link), link.unlink)


def _command() -> str:
    return f"#!{COPY / 'bin' / 'python'} -I\nimport sys\n\nfrom fairq.__main__ import main\n\nsys.exit(main())\n"


def _packages() -> Path:
    return next(COPY.glob("lib/python3*/site-packages"), COPY / "lib")


def _is_complete() -> bool:
    """Say whether the copy has exactly the files of the running fairq, and is root's alone."""
    packages = _packages()
    wanted = parts()
    there = {file.relative_to(packages) for file in packages.rglob("*") if file.is_file() and file.suffix != ".pyc"}
    return (
        there == wanted.keys()
        and all(_same(packages / name, place) for name, place in wanted.items())
        and is_file(COPY / "bin" / "fairq", _command(), 0o755)
        and weakness_below(COPY) is None
    )


def _same(one: Path, other: Path) -> bool:
    first, second = one.stat(), other.stat()
    return (first.st_size, first.st_mtime_ns) == (second.st_size, second.st_mtime_ns)


def _copy(back: WayBack) -> None:
    """Build the copy beside its place and exchange it with the former one."""
    python = interpreter_for_a_copy()
    make_directories(LIBRARY, back)
    new, former = COPY.with_name("venv.new"), COPY.with_name("venv.former")
    for place in (new, former):
        shutil.rmtree(place, ignore_errors=True)
    back.add(str(new), lambda: shutil.rmtree(new, ignore_errors=True))
    run(python, "-I", "-m", "venv", "--without-pip", new)
    packages = next(new.glob("lib/python3*/site-packages"))
    for name, place in parts().items():
        target = packages / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place, target)
        shutil.copystat(place, target)
    (new / "bin" / "fairq").write_text(_command())
    for place in (new, *new.rglob("*")):
        if not place.is_symlink():
            is_open = place.is_dir() or place.parent == new / "bin"
            place.chmod(0o755 if is_open else 0o644)
    run(python, "-I", "-m", "compileall", "-q", "-s", new, "-p", COPY, packages)
    for place in new.rglob("__pycache__/*"):
        place.chmod(0o644)
    for place in new.rglob("__pycache__"):
        place.chmod(0o755)
    if COPY.exists():
        COPY.rename(former)
    new.rename(COPY)
    back.add(str(COPY), lambda: _exchange(former))
    back.at_the_end(lambda: shutil.rmtree(former, ignore_errors=True))


def _exchange(former: Path) -> None:
    shutil.rmtree(COPY)
    if former.exists():
        former.rename(COPY)


def removing() -> list[Step]:
    """Return the steps that remove the program, the copy, and the link to it."""
    is_ours = LINK.is_symlink() and LINK.readlink() == _OWN_LINK
    return [
        Step(f"remove the link {LINK}", not is_ours, lambda back: LINK.unlink()),
        Step(
            f"remove the programs in {LIBRARY}, and the copy of fairq if there is one",
            not LIBRARY.exists(),
            lambda back: _remove(),
        ),
    ]


def _remove() -> None:
    for place in (PROGRAM, STARTER, _OWN_LINK):
        place.unlink(missing_ok=True)
    for place in LIBRARY.glob("venv*"):
        shutil.rmtree(place)
    with suppress(OSError):  # somebody has put something else there
        LIBRARY.rmdir()
