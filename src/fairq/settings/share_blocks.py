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
    """Return whether ``shares.NAME`` is a table of its own."""
    return name == "groups" or name in BLOCK_KEYS


def leaves(name: str, value: Any) -> Iterator[Leaf]:
    """Yield the settings in the table ``shares.NAME`` with this *value*."""
    if not isinstance(value, Mapping):
        yield Leaf(("shares", name), None, value, f"it is a table: write [shares.{name}]")
    elif name == "groups":
        for group, table in value.items():
            yield from _group_leaves(("shares", name, group), table)
    else:
        yield from _block_leaves(("shares", name), value)


def key_of(path: Path) -> tuple[Key | None, str]:
    """Return the key of a setting below ``[shares]``, or None and a hint."""
    _, table, *names = path
    if table == "groups":
        hint = f"a group has {', '.join(SHARE_GROUP_KEYS)}"
        return (SHARE_GROUP_KEYS.get(names[-1].lower()), hint) if len(names) > 1 else (None, hint)
    keys = BLOCK_KEYS[table]
    if table == "ShareCorrections":
        # A corrector from a plugin has its own options.
        option = next((key for key in keys if key.name.rpartition(".")[2] == names[-1]), keys[-1])
        return replace(option, help="An option of a share corrector.") if len(names) > 1 else option, ""
    inner = names[2:] if len(names) > 2 and names[1] == "CEs" and table == "RunningLimit" else names
    inner = [names[0], *names[2:]] if len(names) > 1 and names[1] == "Burst" and table == "MatchingDelay" else inner
    if len(inner) == 3:
        return keys[0], ""
    return None, f'write [shares.{table}."SITE".ATTRIBUTE], VALUE = number; names with dots need quotes'


def resolve(text: str) -> Path | None:
    """Return the path that *text* names (``shares.groups.NAME.job_share``, or an option in a block); None otherwise.

    Dots inside quotes do not separate names.
    """
    words = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|([^."]+)', text)]
    if len(words) < 3 or words[0].lower() != "shares":
        return None
    table = next((name for name in ("groups", *BLOCK_KEYS) if name.lower() == words[1].lower()), None)
    if table is None:
        return None
    names = words[2:]
    if table == "groups" and len(names) > 2:
        names = [".".join(names[:-1]), names[-1]]
    return ("shares", table, *names)


def _group_leaves(path: Path, table: Any) -> Iterator[Leaf]:
    if not isinstance(table, Mapping):
        yield Leaf(path, None, table, f'is a table: write [shares.groups."{path[-1]}"]')
        return
    for word, value in table.items():
        if isinstance(value, Mapping):  # a.b without quotes
            yield from _group_leaves((*path[:-1], f"{path[-1]}.{word}"), value)
        else:
            key, hint = key_of((*path, word))
            yield Leaf((*path, word), key, value, hint)


def _block_leaves(path: Path, table: Mapping[str, Any]) -> Iterator[Leaf]:
    for word, value in table.items():
        option_path = (*path, word)
        if isinstance(value, Mapping):
            yield from _block_leaves(option_path, value)
        else:
            key, hint = key_of(option_path)
            yield Leaf(option_path, key, value, hint)


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
