"""The tables below ``[shares]``: groups, and DIRAC's blocks, whose options have free names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fairq.settings.key import Key
from fairq.settings.share_keys import BLOCK_KEYS, SHARE_GROUP_KEYS

Path = tuple[str, ...]


class Leaf(Struct, frozen=True):
    """One setting below ``[shares]``; with a *key* of None it is invalid, and *hint* describes a valid one."""

    path: Path
    key: Key | None
    value: Any
    hint: str = ""


def is_table(name: str) -> bool:
    """Say whether ``shares.NAME`` is a table of its own."""
    return name == "groups" or name in BLOCK_KEYS


def leaves(name: str, value: Any) -> Iterator[Leaf]:
    """Yield the settings in the table ``shares.NAME`` with this *value*."""
    if not isinstance(value, Mapping):
        yield Leaf(("shares", name), None, value, f"it is a table: write [shares.{name}]")
    elif name == "groups":
        for group, table in value.items():
            yield from _of_group(("shares", name, group), table)
    else:
        yield from _of_block(("shares", name), value)


def key_of(path: Path) -> tuple[Key | None, str]:
    """Return the key of a setting below ``[shares]``, or None and a hint."""
    _, table, *rest = path
    if table == "groups":
        hint = f"a group has {', '.join(SHARE_GROUP_KEYS)}"
        return (SHARE_GROUP_KEYS.get(rest[-1].lower()), hint) if len(rest) > 1 else (None, hint)
    keys = BLOCK_KEYS[table]
    if table == "ShareCorrections":
        # A corrector from a plugin has options of its own.
        found = next((key for key in keys if key.name.rpartition(".")[2] == rest[-1]), keys[-1])
        return replace(found, help="An option of a share corrector.") if len(rest) > 1 else found, ""
    inner = rest[2:] if len(rest) > 2 and rest[1] == "CEs" and table == "RunningLimit" else rest
    inner = [rest[0], *rest[2:]] if len(rest) > 1 and rest[1] == "Burst" and table == "MatchingDelay" else inner
    if len(inner) == 3:
        return keys[0], ""
    return None, f'write [shares.{table}."SITE".ATTRIBUTE], VALUE = number; names with dots need quotes'


def resolve(text: str) -> Path | None:
    """Return the path that *text* names: ``shares.groups.NAME.job_share``, or an option in a block; None for any other.

    Dots inside quotes do not separate names.
    """
    words = [one or other for one, other in re.findall(r'"([^"]*)"|([^."]+)', text)]
    if len(words) < 3 or words[0].lower() != "shares":
        return None
    table = next((name for name in ("groups", *BLOCK_KEYS) if name.lower() == words[1].lower()), None)
    if table is None:
        return None
    rest = words[2:]
    if table == "groups" and len(rest) > 2:
        rest = [".".join(rest[:-1]), rest[-1]]
    return ("shares", table, *rest)


def _of_group(path: Path, table: Any) -> Iterator[Leaf]:
    if not isinstance(table, Mapping):
        yield Leaf(path, None, table, f'is a table: write [shares.groups."{path[-1]}"]')
        return
    for word, value in table.items():
        if isinstance(value, Mapping):  # a.b without quotes
            yield from _of_group((*path[:-1], f"{path[-1]}.{word}"), value)
        else:
            key, hint = key_of((*path, word))
            yield Leaf((*path, word), key, value, hint)


def _of_block(path: Path, table: Mapping[str, Any]) -> Iterator[Leaf]:
    for word, value in table.items():
        at = (*path, word)
        if isinstance(value, Mapping):
            yield from _of_block(at, value)
        else:
            key, hint = key_of(at)
            yield Leaf(at, key, value, hint)


def nested(entries: Mapping[Path, Any], name: str) -> dict[str, Any]:
    """Return the block ``shares.NAME`` as DIRAC nests it, from the values by path."""
    block: dict[str, Any] = {}
    for path, value in entries.items():
        if path[:2] != ("shares", name) or len(path) < 3:
            continue
        inner = block
        for word in path[2:-1]:
            if not isinstance(inner.get(word), dict):
                inner[word] = {}
            inner = inner[word]
        inner[path[-1]] = list(value) if isinstance(value, tuple) else value
    return block
