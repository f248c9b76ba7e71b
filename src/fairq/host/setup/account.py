"""The account that owns the pool of a host."""

from __future__ import annotations

import pwd

from fairq.errors.host import HostPoolError
from fairq.host.setup.layout import ACCOUNT, HOME
from fairq.host.setup.plan import Step, WayBack, run


def entry() -> pwd.struct_passwd | None:
    """Return the account's entry in the user database, None if there is none."""
    try:
        return pwd.getpwnam(ACCOUNT)
    except KeyError:
        return None


def creating() -> Step:
    """Return the step that makes the account; raises HostPoolError if a person has its name."""
    found = entry()
    if found is not None and (found.pw_uid == 0 or found.pw_dir != str(HOME)):
        raise HostPoolError(
            action="created",
            problem=f"there is a user {ACCOUNT} already, whose home is {found.pw_dir}",
            cure=f"rename that user, or set its home to {HOME} if it is a service account",
        )
    what = f"create the system account {ACCOUNT}: without password and shell, home {HOME}"
    return Step(what, found is not None, _create)


def _create(back: WayBack) -> None:
    run(
        "useradd", "--system", "--user-group", "--home-dir", HOME, "--no-create-home", "--shell", "/usr/sbin/nologin",
        "--comment", "The pool of this host", ACCOUNT,
    )  # fmt: skip
    back.add(f"the account {ACCOUNT}", _delete)


def removing() -> Step:
    """Return the step that removes the account, unless it is a person's."""
    found = entry()
    is_ours = found is not None and found.pw_uid != 0 and found.pw_dir == str(HOME)
    return Step(f"remove the system account {ACCOUNT}", not is_ours, lambda back: _delete())


def _delete() -> None:
    run("userdel", ACCOUNT)
