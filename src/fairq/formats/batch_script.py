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
    """The options in a script's comments as *words* of ``fairq submit``, and those *without_effect*.

    *variables* are further variables of the job, whose values may hold macros.
    """

    words: list[str] = field(default_factory=list)
    without_effect: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)


def is_script(content: bytes) -> bool:
    """Return whether a file is a script, not a submit description."""
    return content.startswith(b"#!")


def interpreter(content: bytes) -> list[str]:
    """Return the words of the first line, which runs a script."""
    line = content.split(b"\n", 1)[0][2:].decode(errors="surrogateescape").strip()
    program, _, argument = line.partition(" ")
    return [program, *([argument.strip()] if argument.strip() else [])]


def read_script(content: bytes, name: str, array: str | None = None) -> Script:
    """Return the options in the comments at the top of a script, up to its first command; *array* overrides theirs.

    Raises SubmitDescriptionError for options that cannot be read, or without which another job would run.
    """
    script = Script()
    slurm: list[tuple[str, str]] = []
    is_slurm = False
    for number, line in enumerate(content.decode(errors="surrogateescape").splitlines(), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            break
        kind, _, arguments = text.partition(" ")
        if kind not in ("#FAIRQ", "#SBATCH"):
            continue
        where = f"{name}, line {number}"
        try:
            words = shlex.split(arguments, comments=True)
        except ValueError as error:
            raise SubmitDescriptionError(where=where, problem=str(error)) from None
        if kind == "#FAIRQ":
            script.words += words
            continue
        is_slurm = True
        try:
            slurm += _options(words)
        except ValueError as error:
            raise SubmitDescriptionError(where=where, problem=str(error)) from None
    if is_slurm:
        try:
            _translate(dict(slurm) | ({} if array is None else {"array": array}), script)
        except ValueError as error:
            raise SubmitDescriptionError(where=name, problem=f"#SBATCH: {error}") from None
    return script


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the options of a line of Slurm, by their long names, each with its value."""
    pending = list(words)
    while pending:
        word = pending.pop(0)
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
            if not pending:
                raise ValueError(f"--{name} needs a value")
            value = pending.pop(0)
        yield name, value


def _translate(options: dict[str, str], script: Script) -> None:
    """Translate Slurm's options into words of ``fairq submit`` in *script*; raises ValueError."""
    _refuse(options)
    words: list[str] = []
    cpus = int(options.pop("cpus-per-task", "1")) * int(options.pop("ntasks", "1"))
    array = options.pop("array", None)
    job = "$(Cluster)" if array is None else "$(Cluster)_$(Item)"
    if array is not None:
        array_tasks(array)
        words += ["--array", array]
    name = options.get("job-name", "")
    if (per_core := options.pop("mem-per-cpu", None)) is not None and "mem" not in options:
        options["mem"] = f"{_megabytes(per_core) * cpus}"
    translations: dict[str, Callable[[str], list[str] | None]] = {
        "mem": lambda value: ["--mem", f"{_megabytes(value)}MB"],
        "time": lambda value: [] if (seconds := _seconds(value)) is None else ["--time", str(seconds)],
        "job-name": lambda value: ["--name", value],
        "error": lambda value: ["--error", _file(value, job, name)],
        "input": lambda value: ["--input", _file(value, job, name)],
        "chdir": lambda value: ["--initialdir", value],
        "gpus": lambda value: ["--gpus", value.rpartition(":")[2]],
        "gres": _gres,
        "begin": lambda value: ["--begin", _time(value)],
        "deadline": lambda value: ["--deadline", _time(value)],
        "dependency": _dependency,
        "mail-type": _mail,
        "mail-user": lambda value: ["--attribute", f'NotifyUser="{value}"'],
        "export": _export,
    }
    if cpus != 1:
        words += ["--cpus", str(cpus)]
    output = options.pop("output", "slurm-%j.out" if array is None else "slurm-%A_%a.out")
    words += ["--output", _file(output, job, name)]
    if "error" not in options:
        words += ["--error", _file(output, job, name)]
    options.setdefault("export", "ALL")
    for option, value in options.items():
        translated = translations[option](value) if option in translations else None
        if translated is None:
            script.without_effect.append(f"--{option}")
        words += translated or []
    # Options of #FAIRQ lines come later, so they win.
    script.words[:0] = words
    script.variables = {"SLURM_JOB_ID": job, "SLURM_CPUS_PER_TASK": str(cpus), "SLURM_JOB_NAME": name or "script"}


def array_variables(tasks: Sequence[str]) -> list[str]:
    """Return the variables of the jobs of an array with these task numbers, with macros."""
    numbers = list(map(int, tasks))
    return [
        "SLURM_ARRAY_JOB_ID=$(Cluster)",
        "SLURM_ARRAY_TASK_ID=$(Item)",
        f"SLURM_ARRAY_TASK_COUNT={len(numbers)}",
        f"SLURM_ARRAY_TASK_MIN={min(numbers)}",
        f"SLURM_ARRAY_TASK_MAX={max(numbers)}",
    ]


def _refuse(options: dict[str, str]) -> None:
    """Raise ValueError for options without which another job would run; remove options that hold anyway."""
    nodes = options.pop("nodes", "1")
    if nodes.partition("-")[0] not in ("", "1"):
        raise ValueError(f"--nodes={nodes}: a job runs on one machine; ask for one node")
    for name in ("cpus-per-task", "ntasks"):
        if name in options and not (options[name].isascii() and options[name].isdecimal() and int(options[name])):
            raise ValueError(f"--{name}={options[name]}: give a whole number")
    if "singleton" in options.get("dependency", ""):
        raise ValueError("--dependency=singleton: name the jobs, or use --max-running 1 within a cluster")
    if options.pop("wrap", None) is not None:
        raise ValueError("--wrap is not for a script")


def array_tasks(text: str) -> tuple[list[str], int | None]:
    """Return the task numbers of an array, and how many of its jobs may run at the same time; raises ValueError."""
    ranges, percent, max_running = text.partition("%")
    tasks: list[str] = []
    for part in ranges.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", part.strip(), re.ASCII)
        if match is None or match[3] == "0":
            raise ValueError(f"--array={text}: give numbers such as 0-9, 1,3,5 or 0-15:4")
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1, int(match[3] or 1))
        if len(numbers) + len(tasks) > _MOST_TASKS:
            raise ValueError(f"--array={text}: at most {_MOST_TASKS} jobs")
        tasks += map(str, numbers)
    if percent and not (max_running.isascii() and max_running.isdecimal() and int(max_running)):
        raise ValueError(f"--array={text}: give numbers such as 0-9%2")
    return tasks, int(max_running) if max_running else None


def _megabytes(text: str) -> int:
    """Return an amount of memory, which is in MB without a unit."""
    match = re.fullmatch(r"(?ia)(\d{1,12})([kmgt]?)b?", text)
    if match is None:
        raise ValueError(f"--mem={text}: give an amount such as 4000 (MB) or 4G")
    amount, unit = int(match[1]), match[2].lower()
    return -(-amount // 1024) if unit == "k" else amount * {"": 1, "m": 1, "g": 1024, "t": 1024**2}[unit]


def _seconds(text: str) -> int | None:
    """Return a time limit: minutes, m:s, h:m:s, d-h, d-h:m or d-h:m:s; None: no limit."""
    if text.lower() in ("0", "infinite", "unlimited"):
        return None
    days, dash, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(part.isascii() and part.isdecimal() for part in (*parts, days or "0")) or len(parts) > 3:
        raise ValueError(f"--time={text}: give minutes, h:m:s, or d-h:m:s")
    numbers = list(map(int, parts))
    by_length: dict[int, tuple[int, ...]] = {1: (60,), 2: (60, 1), 3: (3600, 60, 1)}
    units = by_length[3] if dash else by_length[len(numbers)]
    return int(days or 0) * 86400 + sum(number * unit for number, unit in zip(numbers, units, strict=False))


def _file(text: str, job: str, name: str) -> str:
    """Return the name of a file with fairq's macros in place of Slurm's patterns."""

    def macro(match: re.Match[str]) -> str:
        return {"%": "%", "a": "$(Item)", "A": "$(Cluster)", "j": job, "x": name}[match[2]]

    return _PATTERN.sub(macro, text)


def _gres(text: str) -> list[str] | None:
    kind, *parts = text.split(":")
    if kind != "gpu":
        return None
    return ["--gpus", parts[-1] if parts and parts[-1].isdecimal() else "1"]


def _time(text: str) -> str:
    """Return a time as fairq reads it: what is added to now is in seconds without a unit."""
    return re.sub(r"(?i)^now(\+\d+)$", r"\1s", text.strip())


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
    event = (
        "ALL" if "ALL" in kinds or {"END", "FAIL"} <= kinds else next((name for name in _MAILS if name in kinds), "")
    )
    return ["--mail", _MAILS[event]] if event else None


def _export(text: str) -> list[str]:
    parts = [part for part in text.split(",") if part]
    if any(part.upper() in ("NONE", "NIL") for part in parts):
        return []
    words = ["--getenv"] if "ALL" in parts else []
    return words + [word for part in parts if part != "ALL" for word in ("--env", part)]
