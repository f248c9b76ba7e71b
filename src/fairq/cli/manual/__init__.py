"""The manual and the completions, written from the tree of commands: ``python -m fairq.cli.manual``.

The pages in ``man/`` and the scripts in ``completions/`` are kept in the repository; a test fails when they no
longer say what the commands, the settings and the error classes say.
"""

from __future__ import annotations

from fairq.cli.manual.files import generated

__all__ = ["generated"]
