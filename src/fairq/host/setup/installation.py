"""The files of the running fairq: its interpreter, its modules, and whether only root can change them."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

import fairq
from fairq.errors.host import HostPoolError
from fairq.host.setup.owners import weakness, weakness_below

_PATHS = (
    "import json, sys, sysconfig; print(json.dumps([sys.executable, sysconfig.get_config_var('SOABI'),"
    " sysconfig.get_path('stdlib'), [one for one in sys.path if one]]))"
)
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class Interpreter(Struct, frozen=True):
    """A Python as it starts with ``-I``: its executable, binary interface, standard library and module path."""

    executable: Path
    abi: str
    library: Path
    path: tuple[Path, ...]


def interpreter(executable: Path) -> Interpreter | None:
    """Start *executable* and return its facts; None if it does not start."""
    try:
        answer = subprocess.run(
            [executable, "-I", "-c", _PATHS], capture_output=True, check=True, stdin=subprocess.DEVNULL, env={}, cwd="/"
        ).stdout
        resolved, abi, library, path = json.loads(answer)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Interpreter(Path(resolved), abi, Path(library), tuple(map(Path, path)))


def interpreter_of(program: Path) -> Path:
    """Return the interpreter that a program of the pool names, in its first line or where it calls it."""
    text = program.read_text()
    call = re.search(r"(/\S+) -I\b", text)
    return Path(call[1] if call else text.split()[0].removeprefix("#!"))


def command() -> Path:
    """Return the command ``fairq`` of the running installation."""
    return Path(sysconfig.get_path("scripts"), "fairq")


def why_not_in_place() -> str | None:
    """Return why the pool cannot use this installation; None if only root can change it and everybody can read it."""
    python = interpreter(Path(sys.executable))
    if python is None or shlex.quote(str(python.executable)) != str(python.executable):
        return f"{sys.executable} cannot be named in a script"
    if reason := weakness(python.executable) or weakness_below(python.library):
        return reason
    for path in (Path(sys.prefix, "pyvenv.cfg"), *python.path):
        if path.exists() and (reason := weakness_below(path)):
            return reason
    package = Path(fairq.__file__).resolve().parent
    if not any(package.is_relative_to(path.resolve()) for path in python.path):
        return f"{package} is not installed, but only linked to"
    return None


def interpreter_for_a_copy() -> Path:
    """Return an interpreter that only root can change and that can run the same modules as this one.

    Raises HostPoolError if there is none.
    """
    own = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    reasons = []
    for executable in dict.fromkeys((own, Path("/usr/bin", version), Path("/usr/local/bin", version))):
        reason = weakness(executable)
        python = None if reason else interpreter(executable)
        if (
            python
            and python.abi == sysconfig.get_config_var("SOABI")
            and not (reason := weakness_below(python.library))
        ):
            return executable
        reasons.append(reason or f"{executable} is another Python")
    raise HostPoolError(
        action="created",
        problem=f"no interpreter is root's alone and fits this fairq ({'; '.join(dict.fromkeys(reasons))})",
        cure="install fairq with the system's Python: '/usr/bin/python3 -m venv /opt/fairq', then"
        " '/opt/fairq/bin/pip install fairq'",
    )


def parts() -> dict[Path, Path]:
    """Return the files of fairq and of the packages that it needs: their paths, by their names in site-packages.

    Raises HostPoolError if a package does not list its files.
    """
    paths = {}
    for distribution in _needed_distributions():
        name = distribution.metadata["Name"]
        if distribution.files is None:
            raise HostPoolError(
                action="created",
                problem=f"the installed package {name} does not list its files, so it cannot be copied",
                cure="install fairq with pip in a virtual environment of its own",
            )
        for file in distribution.files:
            path = Path(str(file.locate()))
            if ".." not in file.parts and file.suffix not in (".pyc", ".pth") and path.is_file():
                paths[Path(file)] = path
    package = Path(fairq.__file__).parent
    paths |= {  # an editable installation does not list them
        Path("fairq", path.relative_to(package)): path
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    return dict(sorted(paths.items()))


def _needed_distributions() -> Iterator[importlib.metadata.Distribution]:
    """Yield the installed distributions that fairq needs, and fairq itself, each once."""
    pending, names = ["fairq"], {"fairq"}
    while pending:
        try:
            distribution = importlib.metadata.distribution(pending.pop())
        except importlib.metadata.PackageNotFoundError:
            continue  # needed on other systems only: this fairq runs without it
        yield distribution
        for requirement in distribution.requires or ():
            specifier, _, marker = requirement.partition(";")
            match = _NAME.match(specifier)
            if match and "extra" not in marker and (name := match[0].lower()) not in names:
                names.add(name)
                pending.append(name)
