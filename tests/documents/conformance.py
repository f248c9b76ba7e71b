"""``docs/conformance.md``: which test holds fairq to which sentence of the texts.

``python -m tests.documents.conformance`` writes it from the modules beside this one (see `sentences`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

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
    """A text, the files that test it, what those hold fairq to, and what they leave out."""

    text: Text
    files: tuple[str, ...]
    sentences: tuple[Sentence, ...]
    not_normative: tuple[NotNormative, ...]


def documents() -> Iterator[Document]:
    """Yield every text that has a module here, in order of the modules' names; those of one text follow each other."""
    modules: dict[Text, list[ModuleType]] = {}
    for path in sorted(HERE.glob("test_*.py"), key=lambda path: path.stem):
        module = import_module(f"tests.documents.{path.stem}")
        if hasattr(module, "TEXT"):
            modules.setdefault(module.TEXT, []).append(module)
    own = {text: [said for part in parts for said in sentences(part)] for text, parts in modules.items()}
    repeated: dict[Text, list[Sentence]] = {}
    for said in [said for every in own.values() for said in every]:
        for other, same in said.elsewhere():
            repeated.setdefault(other, []).append(same)
    for text, parts in modules.items():
        yield Document(
            text,
            tuple(f"tests/documents/{part.__name__.rpartition('.')[2]}.py" for part in parts),
            (*repeated.get(text, ()), *own[text]),
            tuple(left_out for part in parts for left_out in getattr(part, "NOT_NORMATIVE", ())),
        )


def page() -> str:
    """Return the page."""
    found = list(documents())
    parts = [HEAD]
    if found:
        counts = [(one.text.title, len(one.sentences), len(one.not_normative)) for one in found]
        parts.append(_table(("Text", "Sentences with a test", "Not normative"), counts))
    for one in found:
        files = ", ".join(f"`{file}`" for file in one.files)
        parts.append(f"## {one.text.title}\n\n{one.text.source}. Tests: {files}.\n")
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
