"""msgspec as commands load it: without `typing_extensions`.

Where that package is missing, msgspec takes the same from Python's own `typing`. To load it takes a tenth as long as
NumPy.
"""

from __future__ import annotations

import sys
from typing import Any, cast

_EXTENSIONS = "typing_extensions"


def load() -> None:
    """Load msgspec."""
    if _EXTENSIONS in sys.modules:
        return
    sys.modules[_EXTENSIONS] = cast(Any, None)  # an import fails, as where it is not installed
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[_EXTENSIONS]
