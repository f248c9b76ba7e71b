"""Scripts with options for a batch system in their comments: ``#FAIRQ`` and, with Slurm's meaning, ``#SBATCH`` lines.

Source: the manual of sbatch.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field

from fairq.errors.pool import SubmitDescriptionError

_SHORT = {
    "a": "array", "c": "cpus-per-task", "d": "dependency", "D": "chdir", "e": "error", "G": "gpus", "i": "input",
    "J": "job-name", "n": "ntasks", "N": "nodes", "o": "output", "t": "time", "A": "account", "p": "partition",
    "q": "qos", "C": "constraint", "w": "nodelist", "x": "exclude", "b": "begin", "L": "licenses", "M": "clusters",
}  # fmt: skip
"""Options of one letter that have a value."""

_FLAGS = frozenset(
    {
        "exclusive", "requeue", "no-requeue", "overcommit", "contiguous", "hold", "wait", "parsable", "quiet",
        "verbose", "spread-job", "use-min-nodes", "oversubscribe", "no-kill", "get-user-env", "propagate",
        "kill-on-invalid-dep", "ignore-pbs", "H", "O", "s", "W", "Q", "v", "k",
    }
)  # fmt: skip
"""Options without a value, or with one that may be left out."""

_MAILS = {"END": "end", "FAIL": "fail", "ALL": "all"}
_AFTERS = {"afterok": "--after-ok", "afterany": "--after", "afternotok": "--after-failed"}
_PATTERN = re.compile(r"%(\d*)([%aAjx])")
_MOST_TASKS = 1_000_000


class Script(Struct):
    """What the comments of a script ask for: *words* of ``fairq submit``, and the options that have no effect.

    *variables* are further variables of the job, whose values may hold macros.
    """

    words: list[str] = field(default_factory=list)
    without_effect: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)


def is_script(content: bytes) -> bool:
    """Tell whether a file is a script, not a submit description."""
    return content.startswith(b"#!")


def interpreter(content: bytes) -> list[str]:
    """Return the words of the first line, which runs a script."""
    line = content.split(b"\n", 1)[0][2:].decode(errors="surrogateescape").strip()
    program, _, argument = line.partition(" ")
    return [program, *([argument.strip()] if argument.strip() else [])]


def read_script(content: bytes, name: str) -> Script:
    """Return what the comments at the top of a script ask for, up to its first command.

    Raises SubmitDescriptionError for what would run another job, or cannot be read.
    """
    found = Script()
    slurm: list[tuple[str, str]] = []
    is_slurm = False
    for number, line in enumerate(content.decode(errors="surrogateescape").splitlines(), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            break
        kind, _, rest = text.partition(" ")
        if kind not in ("#FAIRQ", "#SBATCH"):
            continue
        where = f"{name}, line {number}"
        try:
            words = shlex.split(rest, comments=True)
        except ValueError as error:
            raise SubmitDescriptionError(where=where, problem=str(error)) from None
        if kind == "#FAIRQ":
            found.words += words
            continue
        is_slurm = True
        try:
            slurm += _options(words)
        except ValueError as error:
            raise SubmitDescriptionError(where=where, problem=str(error)) from None
    if is_slurm:
        try:
            _translate(dict(slurm), found)
        except ValueError as error:
            raise SubmitDescriptionError(where=name, problem=f"#SBATCH: {error}") from None
    return found


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the options of a line of Slurm's by their long names, each with its value."""
    left = list(words)
    while left:
        word = left.pop(0)
        if word in ("hetjob", "packjob", ":"):
            raise ValueError("fairq runs no heterogeneous jobs; submit its parts as jobs of their own")
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
        elif word.startswith("-") and len(word) > 1:
            name, value = _SHORT.get(word[1], word[1]), word[2:].removeprefix("=")
            equals = value
        else:
            raise ValueError(f"{word!r} is no option")
        if not equals and name not in _FLAGS:
            if not left:
                raise ValueError(f"--{name} needs a value")
            value = left.pop(0)
        yield name, value


def _translate(given: dict[str, str], found: Script) -> None:
    """Put options of Slurm's as words of ``fairq submit``; raises ValueError."""
    _refuse(given)
    words: list[str] = []
    cpus = int(given.pop("cpus-per-task", "1")) * int(given.pop("ntasks", "1"))
    array = given.pop("array", None)
    items, most = _tasks(array) if array is not None else ([], None)
    job = "$(Cluster)_$(Item)" if items else "$(Cluster)"
    name = given.get("job-name", "")
    if (per_core := given.pop("mem-per-cpu", None)) is not None and "mem" not in given:
        given["mem"] = f"{_megabytes(per_core) * cpus}"
    ways: dict[str, Callable[[str], list[str] | None]] = {
        "mem": lambda value: ["--mem", f"{_megabytes(value)}MB"],
        "time": lambda value: [] if (seconds := _seconds(value)) is None else ["--time", str(seconds)],
        "job-name": lambda value: ["--name", value],
        "error": lambda value: ["--error", _file(value, job, name)],
        "input": lambda value: ["--input", _file(value, job, name)],
        "chdir": lambda value: ["--initialdir", value],
        "gpus": lambda value: ["--gpus", value.rpartition(":")[2]],
        "gres": _gres,
        "begin": lambda value: ["--begin", _begin(value)],
        "dependency": _dependency,
        "mail-type": _mail,
        "mail-user": lambda value: ["--attribute", f'NotifyUser="{value}"'],
        "export": _export,
    }
    if cpus != 1:
        words += ["--cpus", str(cpus)]
    output = given.pop("output", "slurm-%A_%a.out" if items else "slurm-%j.out")
    words += ["--output", _file(output, job, name)]
    if "error" not in given:
        words += ["--error", _file(output, job, name)]
    given.setdefault("export", "ALL")
    for option, value in given.items():
        made = ways[option](value) if option in ways else None
        if made is None:
            found.without_effect.append(f"--{option}")
        words += made or []
    words += [word for item in items for word in ("--each", item)]
    if most is not None:
        words += ["--max-running", most]
    # What the line of a #FAIRQ says counts more.
    found.words[:0] = words
    found.variables = {"SLURM_JOB_ID": job, "SLURM_CPUS_PER_TASK": str(cpus), "SLURM_JOB_NAME": name or "script"}
    if items:
        numbers = list(map(int, items))
        found.variables |= {
            "SLURM_ARRAY_JOB_ID": "$(Cluster)",
            "SLURM_ARRAY_TASK_ID": "$(Item)",
            "SLURM_ARRAY_TASK_COUNT": str(len(items)),
            "SLURM_ARRAY_TASK_MIN": str(min(numbers)),
            "SLURM_ARRAY_TASK_MAX": str(max(numbers)),
        }


def _refuse(given: dict[str, str]) -> None:
    """Raise ValueError for what would run another job; take away what asks for what happens anyway."""
    nodes = given.pop("nodes", "1")
    if nodes.partition("-")[0] not in ("", "1"):
        raise ValueError(f"--nodes={nodes}: a job runs on one machine; ask for one node")
    for name in ("cpus-per-task", "ntasks"):
        if name in given and not (given[name].isascii() and given[name].isdecimal() and int(given[name])):
            raise ValueError(f"--{name}={given[name]}: give a whole number")
    if "singleton" in given.get("dependency", ""):
        raise ValueError("--dependency=singleton: name the jobs, or use --max-running 1 within a cluster")
    if given.pop("wrap", None) is not None:
        raise ValueError("--wrap is not for a script")


def _tasks(text: str) -> tuple[list[str], str | None]:
    """Return the numbers of an array, and how many of its jobs may run at the same time."""
    listed, _, most = text.partition("%")
    found: list[str] = []
    for part in listed.split(","):
        fit = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", part.strip(), re.ASCII)
        if fit is None or fit[3] == "0":
            raise ValueError(f"--array={text}: give numbers such as 0-9, 1,3,5 or 0-15:4")
        numbers = range(int(fit[1]), int(fit[2] or fit[1]) + 1, int(fit[3] or 1))
        if len(numbers) + len(found) > _MOST_TASKS:
            raise ValueError(f"--array={text}: at most {_MOST_TASKS} jobs")
        found += map(str, numbers)
    if not found or (most and not most.isdecimal()):
        raise ValueError(f"--array={text}: give numbers such as 0-9%2")
    return found, most or None


def _megabytes(text: str) -> int:
    """Return an amount of memory, which is in MB without a unit."""
    fit = re.fullmatch(r"(?ia)(\d{1,12})([kmgt]?)b?", text)
    if fit is None:
        raise ValueError(f"--mem={text}: give an amount such as 4000 (MB) or 4G")
    amount, unit = int(fit[1]), fit[2].lower()
    return -(-amount // 1024) if unit == "k" else amount * {"": 1, "m": 1, "g": 1024, "t": 1024**2}[unit]


def _seconds(text: str) -> int | None:
    """Return a time limit: minutes, m:s, h:m:s, d-h, d-h:m or d-h:m:s; None: no limit."""
    if text.lower() in ("0", "infinite", "unlimited"):
        return None
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(part.isascii() and part.isdecimal() for part in (*parts, days or "0")) or len(parts) > 3:
        raise ValueError(f"--time={text}: give minutes, h:m:s, or d-h:m:s")
    numbers = list(map(int, parts))
    by_length: dict[int, tuple[int, ...]] = {1: (60,), 2: (60, 1), 3: (3600, 60, 1)}
    units = by_length[3] if dash else by_length[len(numbers)]
    return int(days or 0) * 86400 + sum(number * unit for number, unit in zip(numbers, units, strict=False))


def _file(text: str, job: str, name: str) -> str:
    """Return the name of a file with fairq's macros in place of Slurm's patterns."""

    def shown(found: re.Match[str]) -> str:
        return {"%": "%", "a": "$(Item)", "A": "$(Cluster)", "j": job, "x": name}[found[2]]

    return _PATTERN.sub(shown, text)


def _gres(text: str) -> list[str] | None:
    kind, *rest = text.split(":")
    if kind != "gpu":
        return None
    return ["--gpus", rest[-1] if rest and rest[-1].isdecimal() else "1"]


def _begin(text: str) -> str:
    """Return a time to begin as fairq reads it: now+1hour is +1h."""
    fit = re.fullmatch(r"(?i)now\+(\d+)\s*(second|minute|hour|day|week)?s?", text.strip())
    return f"+{fit[1]}{(fit[2] or 'second')[0].lower()}" if fit else text


def _dependency(text: str) -> list[str]:
    words: list[str] = []
    if "?" in text:
        raise ValueError(f"--dependency={text}: fairq waits for all conditions; separate them by commas")
    for part in text.split(","):
        kind, *jobs = part.split(":")
        if kind not in _AFTERS or not jobs:
            raise ValueError(f"--dependency={part}: give afterok:JOB, afterany:JOB or afternotok:JOB")
        words += [_AFTERS[kind], ",".join(job.replace("_", ".") for job in jobs)]
    return words


def _mail(text: str) -> list[str] | None:
    kinds = {kind.strip().upper() for kind in text.split(",")}
    if kinds == {"NONE"}:
        return []
    wanted = "ALL" if "ALL" in kinds or {"END", "FAIL"} <= kinds else next((one for one in _MAILS if one in kinds), "")
    return ["--mail", _MAILS[wanted]] if wanted else None


def _export(text: str) -> list[str]:
    parts = [part for part in text.split(",") if part]
    if any(part.upper() in ("NONE", "NIL") for part in parts):
        return []
    words = ["--getenv"] if "ALL" in parts else []
    return words + [word for part in parts if part != "ALL" for word in ("--env", part)]
