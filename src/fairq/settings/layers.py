"""The files that hold the settings, and the file that changes are written to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

FILE_NAME = "fairq.toml"
CONFIG_VARIABLE = "FAIRQ_CONFIG"


class Layer(Struct, frozen=True):
    """One file to look for; a *required* one must exist. *role* is the reason, in words, to read it.

    The file may set the settings *only* (full names; None: all). Others are checked and ignored.
    """

    role: str
    path: Path
    required: bool = False
    only: frozenset[str] | None = None


def layers(config: Path | None, state: Path | None, environ: Mapping[str, str]) -> list[Layer]:
    """Return the files to read; later files win.

    Args:
        config: the file of ``--config``.
        state: the state file if the user chose it, else None; its settings file is beside it.
        environ: the environment; ``FAIRQ_CONFIG`` counts if *config* is None.
    """
    if config is not None:
        return [Layer("--config", config, required=True)]
    if environ.get(CONFIG_VARIABLE):
        return [Layer(f"${CONFIG_VARIABLE}", Path(environ[CONFIG_VARIABLE]), required=True)]
    files = [Layer("site", site_file()), Layer("user", user_file())]
    if state is not None and _can_exist(beside(state)):
        files.append(Layer("state", beside(state)))
    return files


def destination(config: Path | None, state: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the file to write changes to: the chosen one, else that of the chosen state, else the user's."""
    if config is not None:
        return config
    if environ.get(CONFIG_VARIABLE):
        return Path(environ[CONFIG_VARIABLE])
    return beside(state) if state is not None else user_file()


def beside(state: Path) -> Path:
    """Return the settings file that belongs to the state file *state*."""
    return Path(f"{state}.toml")


def _can_exist(file: Path) -> bool:
    """Return whether *file* can exist. If not, the state beside it cannot either, and opening the state reports why."""
    try:
        file.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def site_file() -> Path:
    """Return the settings file for all users of this host: the first one in the directories of XDG_CONFIG_DIRS.

    Desktops put their own directories before /etc/xdg, where fairq pool create writes it.
    """
    from platformdirs import site_config_dir

    directories = site_config_dir("fairq", multipath=True).split(os.pathsep)
    files = [Path(directory, FILE_NAME) for directory in directories]
    return next((file for file in files if os.path.lexists(file)), files[0])


def user_file() -> Path:
    """Return the settings file of the user."""
    from platformdirs import user_config_path

    return user_config_path("fairq") / FILE_NAME
