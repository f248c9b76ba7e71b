"""``python -m fairq.cli.manual [DIRECTORY]``: write ``man/`` and ``completions/`` below DIRECTORY."""

from __future__ import annotations

import sys
from pathlib import Path

from fairq.cli.manual.files import write

if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
