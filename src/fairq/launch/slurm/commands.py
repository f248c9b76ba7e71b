"""Calls of Slurm's programs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

_PATIENCE = 60.0
"""Seconds until a program of Slurm is given up; its own patience is ten seconds for each message."""

_NO_ANSWER = (
    "contact slurm controller",
    "timed out",
    "Zero Bytes",
    "Connection",
    "Transport endpoint",
    "Communication",
)
"""Parts of the messages of Slurm's programs if a request or its answer was lost."""


class NoAnswerError(Exception):
    """Slurm did not answer; the request may or may not have been carried out. The text is the reason."""


class RefusedError(Exception):
    """Slurm answered, and refused. The text is the reason."""


def call(*words: str, text: str = "") -> str:
    """Run a program of Slurm with *text* as its input, and return its output; times are seconds since 1970.

    Raises NoAnswerError, RefusedError.
    """
    return call_with_words(words, text)


def call_with_words(words: Sequence[str], text: str = "") -> str:
    """Do the same as `call`, with the words as one sequence."""
    environment = {**os.environ, "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C.UTF-8"}
    try:
        result = subprocess.run(
            words, input=text, capture_output=True, text=True, timeout=_PATIENCE, env=environment, check=False,
            # Ctrl-C in the terminal of the command must not cut a submission short.
            start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError:
        raise RefusedError(f"{words[0]} is not installed on this machine") from None
    except subprocess.TimeoutExpired:
        raise NoAnswerError(f"{words[0]} did not end in {_PATIENCE:g} seconds") from None
    except OSError as error:
        raise RefusedError(f"{words[0]}: {error.strerror}") from None
    if result.returncode == 0:
        return result.stdout
    message = _last_message(result.stderr) or f"{words[0]} ended with exit code {result.returncode}"
    raise (NoAnswerError if result.returncode < 0 or any(word in message for word in _NO_ANSWER) else RefusedError)(
        message
    )


def _last_message(text: str) -> str:
    """Return the last message of a program, without its own name."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].partition("error: ")[2] or lines[-1] if lines else ""
