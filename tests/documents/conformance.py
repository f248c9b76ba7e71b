"""``docs/conformance.md``: which test holds fairq to which sentence of the texts.

``python -m tests.documents.conformance`` writes it from the modules beside this one (see `sentences`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tests.documents.sentences import NotNormative, Sentence, Text, sentences

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "conformance.md"

HEAD = """\
# The texts, sentence by sentence

Written by `python -m tests.documents.conformance`; do not edit.

fairq's rules `documented` follow the texts below. Each normative sentence has a test, in the order of the text. Where
the real program does otherwise, the last column names the setting that decides ([differences](differences.md)).
"""


@dataclass(frozen=True)
class Document:
    """A text, the module that tests it, what that holds fairq to, and what it leaves out."""

    text: Text
    file: str
    sentences: tuple[Sentence, ...]
    not_normative: tuple[NotNormative, ...]


def documents() -> Iterator[Document]:
    """Yield every text that has a module here, in order of the modules' names."""
    for path in sorted(HERE.glob("test_*.py")):
        module = import_module(f"tests.documents.{path.stem}")
        if hasattr(module, "TEXT"):
            yield Document(
                module.TEXT,
                f"tests/documents/{path.name}",
                tuple(sentences(module)),
                tuple(getattr(module, "NOT_NORMATIVE", ())),
            )


def page() -> str:
    """Return the page."""
    found = list(documents())
    parts = [HEAD]
    if found:
        counts = [(one.text.title, len(one.sentences), len(one.not_normative)) for one in found]
        parts.append(_table(("Text", "Sentences with a test", "Not normative"), counts))
    for one in found:
        parts.append(f"## {one.text.title}\n\n{one.text.source}. Tests: `{one.file}`.\n")
        rows = [
            ("; ".join(said.places), _claim(said), f"`{said.test}`", ", ".join(f"`{point}`" for point in said.points))
            for said in one.sentences
        ]
        parts.append(_table(("Place", "What it says", "Test", "Rule points"), rows))
        if one.not_normative:
            parts.append("### Not normative\n")
            parts.append(_table(("Place", "What it says", "Why no test"), one.not_normative))
    return "\n".join(parts)


def _claim(said: Sentence) -> str:
    return f"{said.claim} *({said.note})*" if said.note else said.claim


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines: list[Sequence[object]] = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
    sys.stdout.write(f"wrote {PAGE}\n")
