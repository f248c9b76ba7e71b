"""The manual and the completions, generated from the tree of commands: ``python -m fairq.cli.manual``.

The pages in ``man/`` and the scripts in ``completions/`` are kept in the repository. A test fails when they differ from
the commands, the settings and the error classes.
"""

from __future__ import annotations

from fairq.cli.manual.files import generated

__all__ = ["generated"]
