"""The files of the manual."""

from __future__ import annotations

from pathlib import Path

from fairq.cli.manual.bash import bash_script
from fairq.cli.manual.doc_pages import differences_page, submit_page
from fairq.cli.manual.fish import fish_script
from fairq.cli.manual.overview import overview_page
from fairq.cli.manual.pages import command_page
from fairq.cli.manual.settings_page import settings_page
from fairq.cli.manual.walk import walk
from fairq.cli.manual.zsh import zsh_script
from fairq.common.files import write as write_whole


def generated() -> dict[str, str]:
    """Return the text of every generated file by its path in the repository."""
    commands = walk()
    files = {
        "man/man1/fairq.1": overview_page(commands),
        "man/man5/fairq.toml.5": settings_page(),
        "docs/differences.md": differences_page(),
        "docs/submit.md": submit_page(),
        "completions/bash/fairq": bash_script(commands),
        "completions/zsh/_fairq": zsh_script(commands),
        "completions/fish/fairq.fish": fish_script(commands),
    }
    for command in commands:
        files[f"man/man1/fairq-{command.name}.1"] = command_page(command)
    return files


def write(directory: Path) -> None:
    """Write all files below *directory*, and remove pages of commands that no longer exist."""
    files = generated()
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
    for path in sorted((directory / "man").glob("*/*")):
        if str(path.relative_to(directory)) not in files:
            path.unlink()
