"""The account that owns the pool of a host."""

from __future__ import annotations

import pwd

from fairq.errors.host import HostPoolError
from fairq.host.setup.layout import ACCOUNT, HOME
from fairq.host.setup.plan import Rollback, Step, run


def entry() -> pwd.struct_passwd | None:
    """Return the account's entry in the user database, None if there is none."""
    try:
        return pwd.getpwnam(ACCOUNT)
    except KeyError:
        return None


def creating() -> Step:
    """Return the step that creates the account; raises HostPoolError if a person has its name."""
    user = entry()
    if user is not None and (user.pw_uid == 0 or user.pw_dir != str(HOME)):
        raise HostPoolError(
            action="created",
            problem=f"there is a user {ACCOUNT} already, whose home is {user.pw_dir}",
            cure=f"rename that user, or set its home to {HOME} if it is a service account",
        )
    description = f"create the system account {ACCOUNT}: without password and shell, home {HOME}"
    return Step(description, user is not None, _create)


def _create(rollback: Rollback) -> None:
    run(
        "useradd", "--system", "--user-group", "--home-dir", HOME, "--no-create-home", "--shell", "/usr/sbin/nologin",
        "--comment", "The pool of this host", ACCOUNT,
    )  # fmt: skip
    rollback.add(f"the account {ACCOUNT}", _delete)


def removing() -> Step:
    """Return the step that removes the account, unless it belongs to a person."""
    user = entry()
    is_ours = user is not None and user.pw_uid != 0 and user.pw_dir == str(HOME)
    return Step(f"remove the system account {ACCOUNT}", not is_ours, lambda _: _delete())


def _delete() -> None:
    run("userdel", ACCOUNT)
