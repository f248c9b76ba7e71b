"""``python -m fairq`` is the ``fairq`` command."""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # python -m puts the current directory first. fairq itself has been found; nothing else is to come from there.
    del sys.path[0]

from fairq.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
