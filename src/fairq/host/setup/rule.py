"""The rule of sudo that lets everybody run the pool's program, and nothing else, as the account."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fairq.errors.base import FairqError
from fairq.host.setup.layout import ACCOUNT, MARK, PROGRAM, RULE, STARTER
from fairq.host.setup.plan import Rollback, Step, is_file, make_directories, put, remove_file, run, write

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def text(starts: bool) -> str:
    """Return the rule; with *starts*, the account may start jobs as their owners.

    ``""`` allows no argument at all. The defaults apply to these programs only.
    """
    return f"# {MARK}\n" + _part(
        "Everybody may hand a request to the program of the pool, which checks who asks and what they may.",
        "FAIRQ_APPLY", PROGRAM, "ALL", ACCOUNT,
    ) + (
        _part(
            "The account of the pool may let root start the jobs that it has matched, as their owners.",
            "FAIRQ_START", STARTER, ACCOUNT, "root",
        )
        if starts
        else ""
    )  # fmt: skip


def _part(comment: str, alias: str, program: Path, who: str, account: str) -> str:
    return f"""\
# {comment}
Cmnd_Alias {alias} = {program} ""
Defaults!{alias} env_reset, !env_keep, !env_check, !setenv, secure_path="{_PATH}", closefrom=3, \\
    !closefrom_override, umask=0077, umask_override, !use_pty, !requiretty, !lecture, runcwd="/"
{who} ALL=({account}:{account}) NOPASSWD: {alias}
"""


def has_sudo() -> bool:
    """Return whether sudo and visudo are installed."""
    return all(shutil.which(name, path=_PATH) for name in ("sudo", "visudo"))


def installing(starts: bool) -> Step:
    """Return the step that writes the rule, after visudo has accepted it; with *starts*, the rule also starts jobs."""
    description = f"let everybody run {PROGRAM} as {ACCOUNT} by sudo, without arguments"
    if starts:
        description += f", and {ACCOUNT} run {STARTER} as root"
    content = text(starts)
    return Step(
        f"{description}: {RULE}, checked by visudo",
        (os.geteuid() != 0 or is_file(RULE, content, 0o440)) and in_effect(),
        lambda rollback: _install(content, rollback),
    )


def in_effect(program: str = str(PROGRAM), account: str = ACCOUNT) -> bool:
    """Return whether sudo lets everybody run *program* as *account*; others than root can only ask for themselves."""
    everybody = ("-U", "nobody") if os.geteuid() == 0 else ()
    try:
        return program in run("sudo", "-n", "-l", *everybody, "-u", account, program)
    except (OSError, FairqError):
        return False


def _exists() -> bool:
    """Return whether there is a rule; only root can read the file."""
    return os.path.lexists(RULE) if os.geteuid() == 0 else in_effect()


def _install(content: str, rollback: Rollback) -> None:
    make_directories(RULE.parent, rollback)
    draft = RULE.with_name(".fairq.draft")  # sudo reads no file with a dot in its name
    try:
        write(draft, content.encode(), 0o440)
        run("visudo", "-c", "-f", draft)
    finally:
        draft.unlink(missing_ok=True)
    put(RULE, content, 0o440, rollback)
    run("visudo", "-c")
    if not in_effect():
        cure = f"does /etc/sudoers have the line '@includedir {RULE.parent}'?"
        raise FairqError(message=f"sudo does not follow {RULE}; {cure}")


def removing() -> Step:
    """Return the step that removes the rule."""
    return Step(f"remove the rule of sudo: {RULE}", not _exists(), lambda rollback: remove_file(RULE, rollback))
