"""A script on the command line of ``fairq submit``: its comments become options, its file the program."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path
from typing import Any

from fairq.cli.submission import content_of, shown_name
from fairq.common.inputs import STANDARD_INPUT
from fairq.errors.base import UsageError

_FLAGS = frozenset(
    {
        "--terse", "--getenv", "--nice-user", "--verbatim", "--dry-run", "--script", "--json", "--csv", "--quiet", "-q",
        "-v", "--verbose", "-terse",
    }
)  # fmt: skip
"""Options of submit that have no value."""


def script_as_options(words: list[str], separator: str) -> list[str]:
    """Return *words* with the first script among them, and all words after it, as a program with options.

    Options of the command line come after those of the script, so that they win.
    """
    index = _script_index(words)
    if index is None:
        return words
    from fairq.formats.batch_script import interpreter, is_script, read_script

    name = words[index]
    content, shown = content_of(name), shown_name(name)
    if not is_script(content):
        raise UsageError(message=f"{shown} is no script; its first line must name an interpreter, as #!/bin/sh")
    script = read_script(content, shown, _array(words[:index]))
    path = _stored_script(content) if name == STANDARD_INPUT else Path(name).absolute()
    arguments = words[index + 1 :]
    program = [*interpreter(content), str(path), *(arguments[1:] if arguments[:1] == ["--"] else arguments)]
    own_options = [word for word in words[:index] if word != "--script"]
    variable_options = [word for item in script.variables.items() for word in ("--variable", "=".join(item))]
    noted_options = [word for option in script.without_effect for word in ("--noted", option)]
    return [*script.words, *variable_options, *noted_options, *own_options, "--program=" + separator.join(program)]


def _array(words: list[str]) -> str | None:
    """Return the value of ``--array`` among *words*; None without it."""
    found = [after for word, after in pairwise([*words, ""]) if word == "--array"]
    found += [word.partition("=")[2] for word in words if word.startswith("--array=")]
    return found[-1] if found else None


def _script_index(words: list[str]) -> int | None:
    """Return the index of a script in *words*; None if there is none."""
    from fairq.formats.batch_script import is_script

    options = words[: words.index("--")] if "--" in words else words
    for index, word in enumerate(options):
        previous = options[index - 1] if index else ""
        if previous.startswith("-") and previous != "-" and "=" not in previous and previous not in _FLAGS:
            continue
        if word == STANDARD_INPUT and "--script" in options:
            return index
        if not word.startswith("-") and _begins_as_script(word, is_script):
            return index
    return None


def _begins_as_script(word: str, is_script: Any) -> bool:
    """Return whether an ordinary file begins as a script; a pipe, which can be read only once, is a description."""
    if not Path(word).is_file():
        return False
    try:
        with Path(word).open("rb") as file:
            return bool(is_script(file.read(2)))
    except (OSError, ValueError):
        return False


def _stored_script(content: bytes) -> Path:
    """Store a script from standard input for its jobs, under a name made from its content; return its path."""
    import platformdirs

    folder = Path(platformdirs.user_data_dir("fairq")) / "scripts"
    folder.mkdir(0o700, parents=True, exist_ok=True)
    path = folder / hashlib.sha256(content).hexdigest()[:20]
    if not path.exists():
        path.write_bytes(content)
        path.chmod(0o700)
    return path
