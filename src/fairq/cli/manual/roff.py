"""Man pages as text, with the few requests of man(7) that the manual needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairq import __version__
from fairq.cli.examples import laid_out
from fairq.cli.manual.walk import Parameter

DATE = "2026-11-28"
"""The date of the pages: the release date, so that the same tree always gives the same pages."""

_ESCAPES = str.maketrans({"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"})


def text(plain: str) -> str:
    """Return *plain* escaped, so that it is printed literally."""
    escaped = plain.translate(_ESCAPES)
    escaped = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in escaped)
    return "\\&" + escaped if escaped.startswith(".") else escaped


def bold(plain: str) -> str:
    """Return *plain* in bold."""
    return f"\\fB{text(plain)}\\fR"


def italic(plain: str) -> str:
    """Return *plain* in italics, for a word that the user replaces."""
    return f"\\fI{text(plain)}\\fR"


def header(name: str, section: int) -> list[str]:
    """Return the lines at the start of every page."""
    return [
        '.\\" Written by python -m fairq.cli.manual; do not edit.',
        ".ds AD l",  # groff adjusts lines anew at each heading, but for this
        f'.TH {text(name.upper())} {section} "{DATE}" "fairq {__version__}" "fairq manual"',
        ".nh",
        ".ad l",
    ]


def section(title: str, body: Iterable[str]) -> list[str]:
    """Return a section, or nothing if it has no body."""
    lines = list(body)
    return [f".SH {title}", *lines] if lines else []


def paragraphs(texts: Iterable[str]) -> list[str]:
    """Return paragraphs; one that begins with a backspace (as in Click's help) keeps its line breaks."""
    lines: list[str] = []
    for paragraph in texts:
        if lines:
            lines.append(".PP")
        if paragraph.startswith("\b"):
            lines += [".nf", *(text(line) for line in paragraph.lstrip("\b\n").splitlines()), ".fi"]
        else:
            lines.append(text(" ".join(paragraph.split())))
    return lines


def listed(items: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Return a list of terms, already marked up, each with its paragraphs."""
    lines: list[str] = []
    for term, texts in items:
        lines += [".TP", term, text(texts[0]) if texts else ""]
        for paragraph in texts[1:]:
            lines += [".IP", text(paragraph)]
    return [line for line in lines if line]


def options(parameters: Iterable[Parameter]) -> list[str]:
    """Return a list of options or arguments."""
    return listed((_term(parameter), [parameter.help]) for parameter in parameters)


def _term(parameter: Parameter) -> str:
    if not parameter.spellings:
        return italic(parameter.metavar)
    names = ", ".join(bold(spelling) for spelling in parameter.spellings)
    return f"{names} {italic(parameter.metavar)}" if parameter.metavar else names


def examples(lines: Sequence[str]) -> list[str]:
    """Return command lines with their meanings."""
    return [".nf", *(text(line) for line in laid_out(lines)), ".fi"] if lines else []


def page(*parts: Iterable[str]) -> str:
    """Return the finished page."""
    return "\n".join(line for part in parts for line in part) + "\n"
