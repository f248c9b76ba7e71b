"""Find settings by the names that people write, and suggest the nearest valid name."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.errors.base import UnknownSettingError
from fairq.errors.nearest import nearest
from fairq.settings import share_blocks
from fairq.settings.key import Key
from fairq.settings.keys import BY_MACRO, GROUP_KEYS, LIMIT_KEY, MACROS_WITH_NAME, SECTIONS, SINGLE
from fairq.settings.share_keys import SHARE_GROUP_KEYS
from fairq.settings.statements import KEY_PATTERN
from fairq.settings.submit_keys import SUBMIT_GROUP_KEY, SUBMIT_GROUPS

Path = tuple[str, ...]
"""The keys that lead to a setting in a TOML document: ``("groups", "physics.hep", "quota")``."""

_MOST_PROPOSED = 3
"""Largest number of settings proposed because their names share a word with the typed name."""

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
    section, _, remainder = text.partition(".")
    if section.lower() == "groups":
        group, _, name = remainder.rpartition(".")
        if group and name.lower() in GROUP_KEYS:
            return GROUP_KEYS[name.lower()], ("groups", group, name.lower())
        raise unknown(text, where)
    if section.lower() == "limits" and remainder:
        return LIMIT_KEY, ("limits", remainder.lower())
    if lower.startswith("submit.groups.") and (name := text[len("submit.groups.") :]):
        return SUBMIT_GROUP_KEY, (*SUBMIT_GROUPS, name)
    if (path := share_blocks.resolve(text)) is not None:
        share_key, hint = share_blocks.key_of(path)
        if share_key is None:
            raise UnknownSettingError(where=where, key=text, hint=hint)
        return share_key, path if path[1] != "groups" else (*path[:-1], path[-1].lower())
    key = SINGLE.get(lower) or BY_MACRO.get(text.upper()) or _unique(lower)
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
    """Return the error for *text*, which names no setting, with the nearest name."""
    hint = _hint_for_table(text) or _nearest_setting(text) or _listing(text)
    return UnknownSettingError(where=where, key=text, hint=hint)


def _hint_for_table(text: str) -> str | None:
    """Return a hint with a setting of the table *text*; None if *text* is no table."""
    prefix = f"{text.strip('[].').lower()}."
    for name in (*SINGLE, "groups.NAME.quota", "limits.NAME"):
        if name.startswith(prefix):
            return f"it is a table; name a setting in it, such as {name}"
    return None


def _nearest_setting(text: str) -> str | None:
    section, _, name = text.lower().rpartition(".")
    if name in SECTIONS:
        return _did_you_mean(f"[{name}]")
    if text.lower() in SINGLE:
        return _did_you_mean(text.lower())
    if same_name := [full_name for full_name, key in SINGLE.items() if key.name == name]:
        return _did_you_mean(*same_name)
    candidates = [
        full_name for full_name in SINGLE if section and f".{full_name.rpartition('.')[0]}".endswith(f".{section}")
    ]
    if hint := _alike(name, candidates, 0.6) or _hint_with_free_name(text):
        return hint
    if section.startswith("groups"):
        return f"a group has {', '.join(GROUP_KEYS)}"
    return _htcondor_reason(text) or _alike(text.lower().replace(".", "_"), SINGLE, 0.9) or _alike(name, SINGLE, 0.75)


def _alike(name: str, full_names: Iterable[str], cutoff: float) -> str | None:
    """Return the setting spelled most like *name*, or the few that contain it as a word."""
    settings = {full_name.rpartition(".")[2]: full_name for full_name in full_names}
    close = nearest(name, settings, cutoff)
    words = [close] if close else [word for word in settings if f"_{name}_" in f"_{word}_"]
    return _did_you_mean(*(settings[word] for word in words)) if 0 < len(words) <= _MOST_PROPOSED else None


def _hint_with_free_name(text: str) -> str | None:
    """Return a hint for a setting of a group or limit with a free name: ``group.x.quota`` and ``GROUP_QUOTA_x``."""
    import re

    *words, last = text.split(".")
    for table, keys in (("groups", GROUP_KEYS), ("shares.groups", SHARE_GROUP_KEYS)):
        if close := nearest(last, keys, 0.8):
            while words and words[0].lower() in (*SECTIONS, "group"):
                del words[0]
            return _did_you_mean(f"{table}.{'.'.join(words) or 'NAME'}.{close}")
    if words and nearest(words[-1], ("limits",), 0.8):
        return _did_you_mean(f"limits.{last.lower()}")
    if text.upper() == "GROUP_NAMES":
        return "a group exists as soon as it has a setting, such as groups.NAME.quota"
    # Try the longest first: the name in GROUP_QUOTA_DYNAMIC_x is x.
    for macro, key in sorted(MACROS_WITH_NAME.items(), key=lambda item: -len(item[0])):
        if match := re.fullmatch(r"(?:\w+\.)?" + re.sub("<.*>", "(.+)", macro), text, re.IGNORECASE):
            free_name = "".join(match.groups())
            if key.section == "groups":
                return _did_you_mean(f"groups.{free_name}.{key.name}")
            return _did_you_mean(
                f"limits.{key.name.replace('NAME', free_name.lower()).replace('PREFIX', free_name.lower())}"
            )
    return None


def _htcondor_reason(text: str) -> str | None:
    """Return why a macro of HTCondor has no counterpart; None if *text* is no such macro."""
    from fairq.settings.htcondor.reasons import reason

    words = reason(text) if text.isupper() else ""
    return words if words.startswith(("no daemon", "fairq ")) else None


def _listing(text: str) -> str:
    section = text.partition(".")[0].lower()
    return f"'fairq config show {section}' lists them" if section in SECTIONS else "'fairq config show' lists them"


def _did_you_mean(*names: str) -> str:
    return f"did you mean {' or '.join(names)}?"


def unknown_section(name: str, where: str) -> UnknownSettingError:
    """Return the error for a table (or a key outside any table) that the settings do not have."""
    if name in SECTIONS:
        return UnknownSettingError(where=where, key=name, hint=f"it is a table; write [{name}] above its settings")
    if key := _unique(name.lower()):
        hint = f"did you mean {key.name} under [{key.section}]?"
        return UnknownSettingError(where=where, key=name, hint=hint)
    if share_blocks.is_table(name):
        return UnknownSettingError(where=where, key=f"[{name}]", hint=f"write [shares.{name}]")
    if suggestion := _hint_with_free_name(name):
        return UnknownSettingError(where=where, key=name, hint=suggestion)
    close = nearest(name, SECTIONS)
    tables = ", ".join(f"[{section}]" for section in SECTIONS if "." not in section)
    hint = f"did you mean [{close}]?" if close else f"the tables are {tables}"
    return UnknownSettingError(where=where, key=f"[{name}]", hint=hint)


def _unique(name: str) -> Key | None:
    keys = [key for key in SINGLE.values() if key.name == name]
    return keys[0] if len(keys) == 1 else None
