"""The rule of sudo that lets everybody run the pool's program, and nothing else, as the account."""

from __future__ import annotations

import shutil
from pathlib import Path

from fairq.errors.base import FairqError
from fairq.steps.setup.layout import ACCOUNT, MARK, PROGRAM, RULE
from fairq.steps.setup.plan import Step, WayBack, is_file, make_directories, put, run, take_away, write

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def text(program: Path = PROGRAM, account: str = ACCOUNT) -> str:
    """Return the rule. ``""`` allows no argument at all; the defaults hold for this program only."""
    return f"""\
# {MARK}
# Everybody may hand a request to the program of fairq's pool, which checks who asks and what they may.
Cmnd_Alias FAIRQ_APPLY = {program} ""
Defaults!FAIRQ_APPLY env_reset, !env_keep, !env_check, !setenv, secure_path="{_PATH}", closefrom=3, \\
    !closefrom_override, umask=0077, umask_override, !use_pty, !requiretty, !lecture, runcwd="/"
ALL ALL=({account}:{account}) NOPASSWD: FAIRQ_APPLY
"""


def has_sudo() -> bool:
    """Say whether sudo and visudo are installed."""
    return all(shutil.which(name, path=_PATH) for name in ("sudo", "visudo"))


def installing() -> Step:
    """Return the step that writes the rule, after visudo has accepted it."""
    what = f"let everybody run {PROGRAM} as {ACCOUNT} by sudo, without arguments: {RULE}, checked by visudo"
    return Step(what, is_file(RULE, text(), 0o440) and in_effect(), _install)


def in_effect() -> bool:
    """Say whether the rule lets a user without other rights run the program; asks sudo, as root."""
    try:
        listed = run("sudo", "-n", "-l", "-U", "nobody", "-u", ACCOUNT, PROGRAM)
    except (OSError, FairqError):
        return False
    return str(PROGRAM) in listed


def _install(back: WayBack) -> None:
    make_directories(RULE.parent, back)
    draft = RULE.with_name(".fairq.draft")  # sudo reads no file with a dot in its name
    try:
        write(draft, text().encode(), 0o440)
        run("visudo", "-c", "-f", draft)
    finally:
        draft.unlink(missing_ok=True)
    put(RULE, text(), 0o440, back)
    run("visudo", "-c")
    if not in_effect():
        cure = f"does /etc/sudoers have the line '@includedir {RULE.parent}'?"
        raise FairqError(message=f"sudo does not follow {RULE}; {cure}")


def removing() -> Step:
    """Return the step that removes the rule."""
    return Step(f"remove the rule of sudo: {RULE}", not RULE.exists(), lambda back: take_away(RULE, back))
