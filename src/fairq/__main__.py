"""The ``fairq`` command begins here, and so does ``python -m fairq``.

Nothing but sys and os is imported before `main` runs: whoever interrupts the start of a command gets no traceback.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # python -m puts the current directory first. fairq itself has been found; nothing else is to come from there.
    del sys.path[0]


def main() -> int:
    """Run the command line and return its exit code, 130 if it is interrupted, however early or late."""
    try:
        if "OPENBLAS_NUM_THREADS" not in os.environ:
            # NumPy's linear algebra, which fairq never uses, else starts a thread for each core, which costs more than
            # the rest of NumPy. Only the library is told: os.environ, and who is started with it, do not change.
            os.putenv("OPENBLAS_NUM_THREADS", "1")
        from fairq import interrupts

        interrupts.end_at_once()
        from fairq.cli.app import main as run

        code = run()
        interrupts.ignore()
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        # After an interrupt in an import the interpreter would end itself by the signal, whatever the exit code.
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
