"""The settings of the pool of this host, and those that a user may set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairq.settings.keys import SINGLE
from fairq.settings.layers import CONFIG_VARIABLE, Layer, site_file, user_file
from fairq.settings.model import Settings, gather
from fairq.settings.submit_keys import SUBMIT

OF_USERS = frozenset({"pool.use", "metrics.submitters", *(key.full_name for key in SUBMIT)})
"""The settings that count from a user's file and variables; all others of a host's pool come from its site file."""


def host_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings of the pool of this host; raises the first error.

    They come from the site file. A user's file and variables set only `OF_USERS`.
    """
    return gather(host_layers(environ), users_variables(environ))


def host_layers(environ: Mapping[str, str]) -> list[Layer]:
    """Return the files that the settings of the pool of this host come from."""
    chosen = environ.get(CONFIG_VARIABLE)
    role, file = (f"${CONFIG_VARIABLE}", Path(chosen)) if chosen else ("user", user_file())
    return [Layer("site", site_file()), Layer(role, file, required=bool(chosen), only=OF_USERS)]


def host_destination(name: str) -> Path:
    """Return the file that a change of the setting *name* goes to."""
    return user_file() if name in OF_USERS else site_file()


def users_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that count for the pool of this host."""
    variables = {SINGLE[name].variable for name in OF_USERS}
    return {name: value for name, value in environ.items() if name in variables}
