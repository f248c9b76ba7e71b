"""``python -m fairq`` is the ``fairq`` command."""

from __future__ import annotations

import sys

from fairq.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
