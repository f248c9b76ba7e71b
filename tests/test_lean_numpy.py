"""NumPy as commands load it: sooner, and with all that anybody may ask of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

_START = "from fairq import lean_numpy; lean_numpy.make_lean(); import sys, numpy as np"


def _run(program: str) -> str:
    """Return what a Python process prints that runs *program* after it has loaded NumPy as a command does."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{_START}; {program}"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_command_loads_no_types_and_no_docstrings() -> None:
    """fairq's own modules, which have arrays in their annotations, load no types either."""
    loaded = "import fairq.engine.negotiation.cycle; print([name for name in sys.modules if 'numpy._typing._' in name])"
    assert _run(loaded) == "[]"
    assert _run("print(np.ndarray.mean.__doc__)") == "None"


@pytest.mark.parametrize(
    "asked",
    [
        "import numpy.typing as of; of.ArrayLike",
        "import numpy.typing as of; np.typing.ArrayLike; of = np.typing",
        "from numpy.typing import DTypeLike; import numpy.typing as of",
        "import numpy._typing as of; of._ArrayLikeInt",
        "import numpy._typing._array_like as of",
    ],
)
def test_whoever_asks_for_types_gets_those_of_numpy(asked: str) -> None:
    """Plugins may, and Matplotlib does."""
    assert _run(f"{asked}; print(of.NDArray is lean_numpy.NDArray)") == "False"


def test_an_alias_of_arrays_can_be_joined_with_other_types() -> None:
    """Modules that are loaded before the types may have such aliases, too."""
    alias = "from numpy.typing import NDArray; print((NDArray[np.float64] | None) == (None | NDArray[np.float64]))"
    assert _run(alias) == "True"
