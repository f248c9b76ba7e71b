"""The parts of a demo: scenes that are played one after the other on a scratch state."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class Scene(Struct, frozen=True):
    """The *sentence* of a scene, and the *words* of the command (without ``fairq``) that it runs."""

    sentence: str
    words: tuple[str, ...]


class Demo(Struct, frozen=True):
    """A worked example: its *scenes*, the *settings* of its state, *files* by path, and how to *look* at it later."""

    scenes: tuple[Scene, ...]
    look: str
    settings: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def scene(sentence: str, words: str) -> Scene:
    """Return a scene; *words* are separated by blanks."""
    return Scene(sentence, tuple(words.split()))
