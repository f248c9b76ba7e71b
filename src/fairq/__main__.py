"""The entry point of the ``fairq`` command and of ``python -m fairq``.

Only os and sys are imported before `main` runs, so an interrupt at the start gives no traceback.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # python -m puts the current directory first in sys.path. fairq itself is already found; import nothing else from
    # there.
    del sys.path[0]


def main() -> int:
    """Run the command line and return its exit code: 130 if it is interrupted at any time."""
    try:
        if "OPENBLAS_NUM_THREADS" not in os.environ:
            # By default, NumPy's linear algebra starts a thread for each core, which costs more than the rest of NumPy.
            # fairq never uses it. Only the library sees the limit: os.environ, and processes started with it, are
            # unchanged.
            os.putenv("OPENBLAS_NUM_THREADS", "1")
        if not sys.warnoptions:
            import warnings

            # A warning of NumPy about a number says nothing to those who run fairq; tests and developers ask for it.
            warnings.simplefilter("ignore")
        from fairq.common import interrupts

        interrupts.end_at_once()
        from fairq.cli.app import main as run

        code = run()
        interrupts.ignore()
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        # After an interrupt during an import, the interpreter would kill itself by the signal and ignore the exit code.
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
