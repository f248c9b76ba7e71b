"""PanDA's own settings (gdpconfig): the values set in the state, and their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairq.columns.broker.column import LARGEST_REAL, Kind, UnfitError
from fairq.columns.broker.work import CONFIG
from fairq.common.records import Actor, Change
from fairq.engine.brokerage.pool.config import ALSO_ALONE, KEYS, Config, ConfigKey, key_of
from fairq.errors.broker import BrokerSettingValueError, UnknownBrokerSettingError
from fairq.errors.nearest import nearest
from fairq.state import broker_data, history
from fairq.state.connection import State, reading, writing
from fairq.steps.broker.reader import Checked, Remark, check_record

Value = float | bool | str

_TRUTH = {"true": True, "false": False}


def load_config(state: State) -> Config:
    """Return the settings of the state."""
    return Config(
        {f"{component}.{key}": read_value(value) for component, key, value in broker_data.load(state, CONFIG)}
    )


def read_value(text: str) -> Value:
    """Return a stored text as a number or truth value, otherwise unchanged."""
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    try:
        number = float(text)
    except ValueError:
        return text
    if not abs(number) <= LARGEST_REAL or "_" in text:
        return text
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


_EXPECTED = "a number of at least 0, or true or false"
_LISTED = "'fairq broker config' lists all"


def look(path: Path, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a record for every setting, or for the named ones, with value and default.

    Raises UnknownBrokerSettingError.
    """
    with reading(path) as state:
        stored = {f"{component}.{key}": read_value(value) for component, key, value in broker_data.load(state, CONFIG)}
    if names:
        listed = list(dict.fromkeys(_full_name(name) for name in names))
    else:
        listed = sorted({*KEYS, *stored}, key=lambda name: (_position(name), name))
    return [_setting_record(name, stored) for name in listed]


def setting_names() -> list[str]:
    """Return the names of all settings with their component, then without."""
    return [*KEYS, *(name.partition(".")[2] for name in KEYS)]


def put(path: Path, name: str, text: str, actor: Actor, *, dry_run: bool = False) -> tuple[str, Value]:
    """Set a setting and return its full name and value; raises UnknownBrokerSettingError, BrokerSettingValueError."""
    name, value = checked(name, text)
    _change(path, actor, {name: text.strip()}, dry_run)
    return name, value


def checked(name: str, text: str) -> tuple[str, Value]:
    """Return the full name and the value of a setting; raises UnknownBrokerSettingError, BrokerSettingValueError."""
    name = _full_name(name)
    ending = _missing_ending(name)
    if ending:
        raise UnknownBrokerSettingError(name=name, hint=f"append {ending}")
    value = read_value(text.strip())
    if not _is_fit(value):
        raise BrokerSettingValueError(name=name, value=text, expected=_EXPECTED, default=_default(name))
    return name, value


def unset(path: Path, names: Sequence[str], actor: Actor, *, dry_run: bool = False) -> list[str]:
    """Remove the values of settings and return their names; raises UnknownBrokerSettingError."""
    full_names = [_full_name(name) for name in names]
    _change(path, actor, dict.fromkeys(full_names), dry_run)
    return full_names


def check_setting(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return a line of gdpconfig as a row; a setting that no brokerage reads is kept, with a remark.

    Raises UnfitError for a value that must be a number and is not.
    """
    ignored = {"app", "vo", "type", "descr", "description"}
    row, given_columns, remarks = check_record(kind, {k: v for k, v in record.items() if k.lower() not in ignored})
    component, key, value = row
    name = f"{component}.{key}"
    if key_of(name) is None:
        return row, given_columns, [*remarks, Remark("is a setting that the brokerage does not read")]
    if _missing_ending(name):
        remarks = [*remarks, Remark(f"is read only with what it goes on with: {_missing_ending(name)}")]
    if not _is_fit(read_value(value)):
        raise UnfitError(f"{name} must be {_EXPECTED}, not {value!r}")
    return row, given_columns, remarks


def _change(path: Path, actor: Actor, values: dict[str, str | None], dry_run: bool) -> None:
    with reading(path) if dry_run else writing(path) as state:
        values_now = {(component, key): value for component, key, value in broker_data.load(state, CONFIG)}
        changes = []
        for name, text in values.items():
            component, _, key = name.partition(".")
            before = values_now.pop((component, key), None)
            if text is not None:
                values_now[component, key] = text
            changes.append(Change(f"broker config {name}", before, text))
        if not dry_run:
            broker_data.clear(state, CONFIG)
            broker_data.store(state, CONFIG, ((*key_pair, text) for key_pair, text in values_now.items()))
            history.record(state, actor, changes)


def _full_name(name: str) -> str:
    """Return the full name; the component may be omitted if only one setting has that name."""
    if key_of(name) is not None:
        return name
    bare_name = name.partition(".")[2] or name
    full_names = [base for base, key in KEYS.items() if _matches(base.partition(".")[2], key, bare_name)]
    if len(full_names) == 1 and "." not in name:
        ending = bare_name[len(full_names[0].partition(".")[2]) :]
        return full_names[0] + ending
    by_bare_name = {base.partition(".")[2]: base for base in KEYS}
    suggestion = full_names[0] if full_names else by_bare_name.get(nearest(bare_name, by_bare_name) or "")
    hint = " or ".join(full_names) if len(full_names) > 1 else suggestion
    raise UnknownBrokerSettingError(name=name, hint=f"did you mean {hint}?" if hint else _LISTED)


def _missing_ending(name: str) -> str:
    """Return the required ending of a name from a family of settings; empty if the name is complete."""
    key = KEYS.get(name)
    if key is None or not key.family or name in ALSO_ALONE:
        return ""
    return " or ".join(f"_<{part}>" for part in key.family.replace(" and ", ">_<").split(", "))


def _matches(base: str, key: ConfigKey, bare_name: str) -> bool:
    return bare_name == base or bool(key.family and bare_name.startswith(f"{base}_"))


def _position(name: str) -> int:
    names = list(KEYS)
    if name in KEYS:
        return names.index(name)
    return next((index for index, base in enumerate(names) if name.startswith(f"{base}_")), len(names))


def _setting_record(name: str, stored: dict[str, Value]) -> dict[str, Any]:
    key = key_of(name)
    default = key.default if key else None
    is_set = name in stored
    value = stored[name] if is_set else default
    effective = value if not (is_set and key and key.zero_is_default and not value) else default
    return {
        "name": name,
        "value": effective,
        "set": stored.get(name),
        "default": default,
        "unit": key.unit if key else "",
        "family": key.family if key else "",
    }


def _default(name: str) -> str:
    key = key_of(name)
    return "unset" if key is None or key.default is None else str(key.default).lower()


def _is_fit(value: Value) -> bool:
    return not isinstance(value, str) and value >= 0
