"""Finding settings by the names that people write, and suggesting the nearest valid name."""

from __future__ import annotations

from fairq.errors.base import UnknownSettingError
from fairq.errors.nearest import nearest
from fairq.settings import share_blocks
from fairq.settings.key import Key
from fairq.settings.keys import BY_MACRO, GROUP_KEYS, LIMIT_KEY, SECTIONS, SINGLE
from fairq.settings.statements import KEY_PATTERN

Path = tuple[str, ...]
"""The keys that lead to a setting in a TOML document: ``("groups", "physics.hep", "quota")``."""

_QUOTED = rf"{KEY_PATTERN}(?:\.{KEY_PATTERN})*"


def resolve(text: str, where: str) -> tuple[Key, Path]:
    """Return the key that *text* names, and its path.

    Accepted: ``negotiator.rules``, a bare name if it is unique, a macro's name in any case, ``groups.NAME.quota``,
    ``limits.NAME``, and names below ``shares``. Raises UnknownSettingError, whose message begins with *where*.
    """
    if not text.isprintable():
        raise UnknownSettingError(where=where, key=text, hint="'fairq config show' lists them")
    text = without_quotes(text, where)
    lower = text.lower()
    section, _, rest = text.partition(".")
    if section.lower() == "groups":
        group, _, name = rest.rpartition(".")
        if group and name.lower() in GROUP_KEYS:
            return GROUP_KEYS[name.lower()], ("groups", group, name.lower())
        raise unknown(text, where)
    if section.lower() == "limits" and rest:
        return LIMIT_KEY, ("limits", rest.lower())
    if (path := share_blocks.resolve(text)) is not None:
        found, hint = share_blocks.key_of(path)
        if found is None:
            raise UnknownSettingError(where=where, key=text, hint=hint)
        return found, path if path[1] != "groups" else (*path[:-1], path[-1].lower())
    key = SINGLE.get(lower) or BY_MACRO.get(text.upper()) or _bare(lower)
    if key is None:
        raise unknown(text, where)
    return key, key.path


def without_quotes(text: str, where: str) -> str:
    """Return the name *text* without quotes as in TOML: ``groups."a.b".quota`` is ``groups.a.b.quota``.

    Names below ``shares`` keep theirs: dots inside their quotes do not separate names. Raises UnknownSettingError.
    """
    if not {'"', "'"} & set(text) or text.lower().startswith("shares."):
        return text
    import re
    import tomllib

    try:
        inner: object = tomllib.loads(f"{text} = 0") if re.fullmatch(_QUOTED, text) else None
    except tomllib.TOMLDecodeError:
        inner = None
    if inner is None:
        raise UnknownSettingError(where=where, key=text, hint="its quotes are not closed as in TOML")
    words: list[str] = []
    while isinstance(inner, dict):
        ((word, inner),) = inner.items()
        words.append(word)
    return ".".join(words)


def unknown(text: str, where: str) -> UnknownSettingError:
    """Return the error for *text*, which names no setting, with the nearest existing name."""
    hint = _of_table(text) or _nearest(text) or "'fairq config show' lists them"
    return UnknownSettingError(where=where, key=text, hint=hint)


def _of_table(text: str) -> str | None:
    """Return what there is in the table that *text* is, or is in."""
    inside = f"{text.strip('[].').lower()}."
    for name in (*SINGLE, "groups.NAME.quota", "limits.NAME"):
        if name.startswith(inside):
            return f"it is a table; name a setting in it, such as {name}"
    return f"a group has {', '.join(GROUP_KEYS)}" if text.rpartition(".")[0].startswith("groups") else None


def _nearest(text: str) -> str | None:
    section, _, name = text.lower().rpartition(".")
    if f"{section}.{name}" in SINGLE:
        return f"did you mean {section}.{name}?"
    if same := [key.full_name for key in SINGLE.values() if key.name == name]:
        return f"did you mean {' or '.join(same)}?"
    own = [key.name for key in SINGLE.values() if key.section == section]
    if (found := nearest(name, own)) is not None:
        return f"did you mean {section}.{found}?"
    known = {key.name: key.full_name for key in SINGLE.values()} | {name: name for name in SINGLE}
    close = nearest(name, known) or nearest(text, known)
    return None if close is None else f"did you mean {known[close]}?"


def unknown_section(name: str, where: str) -> UnknownSettingError:
    """Return the error for a table (or a key outside any table) that the settings do not have."""
    if name in SECTIONS:
        return UnknownSettingError(where=where, key=name, hint=f"it is a table; write [{name}] above its settings")
    if key := _bare(name.lower()):
        hint = f"did you mean {key.name} under [{key.section}]?"
        return UnknownSettingError(where=where, key=name, hint=hint)
    if share_blocks.is_table(name):
        return UnknownSettingError(where=where, key=f"[{name}]", hint=f"write [shares.{name}]")
    close = nearest(name, SECTIONS)
    tables = ", ".join(f"[{section}]" for section in SECTIONS if "." not in section)
    hint = f"did you mean [{close}]?" if close else f"the tables are {tables}"
    return UnknownSettingError(where=where, key=f"[{name}]", hint=hint)


def _bare(name: str) -> Key | None:
    same = [key for key in SINGLE.values() if key.name == name]
    return same[0] if len(same) == 1 else None
