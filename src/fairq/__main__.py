"""The entry point of the ``fairq`` command and of ``python -m fairq``.

Only atexit, gc, os and sys are imported before `main` runs, so an interrupt at the start gives no traceback.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # python -m puts the current directory first in sys.path. fairq itself is already found; import nothing else from
    # there.
    del sys.path[0]


_OBJECTS_BETWEEN_COLLECTIONS = 200_000
"""The modules of any command make fewer objects."""


def main() -> int:
    """Run the command line and return its exit code: 130 if it is interrupted at any time."""
    try:
        if "OPENBLAS_NUM_THREADS" not in os.environ:
            # By default, NumPy's linear algebra starts a thread for each core, which costs more than the rest of NumPy.
            # fairq never uses it. Only the library sees the limit: os.environ, and processes started with it, are
            # unchanged.
            os.putenv("OPENBLAS_NUM_THREADS", "1")
        # Loading Python modules makes nearly no garbage: by default, looking for it takes a tenth of a command's start.
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        if not sys.warnoptions:
            import warnings

            # A warning of NumPy about a number says nothing to those who run fairq; tests and developers ask for it.
            warnings.simplefilter("ignore")
        from fairq import interrupts, lean_numpy

        interrupts.end_at_once()
        lean_numpy.make_lean()
        from fairq.cli.app import main as run

        code = run()
        interrupts.ignore()
        gc.freeze()  # the interpreter need not look for garbage among what ends with it
        _end(code)
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        # After an interrupt during an import, the interpreter would kill itself by the signal and ignore the exit code.
        os._exit(code)
    return code


def _end(code: int) -> None:
    """End the process: to free one object after the other would take as long as to load most modules.

    The interpreter ends it if it has to wait for threads, or if what it runs is measured.
    """
    threading = sys.modules.get("threading")
    if (threading is None or threading.active_count() == 1) and sys.getprofile() is None and sys.gettrace() is None:
        from fairq.cli import streams

        atexit._run_exitfuncs()
        streams.close()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
