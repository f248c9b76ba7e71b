"""A host with a pool for the tests: accounts, a rule of sudo, the program behind it, and fairq for its users."""

from __future__ import annotations

import fcntl
import grp
import os
import pwd
import re
import shutil
import signal
import site as site_packages
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairq
from fairq.host.setup.program import head

PYTHON = "/usr/bin/python3"
PREFIX = "fqc"
"""The beginning of all names on the host."""

ACCOUNT, ADMINISTRATOR, USERS = f"{PREFIX}pool", f"{PREFIX}adm", (f"{PREFIX}ann", f"{PREFIX}bob", f"{PREFIX}eve")
MORE = tuple(f"{PREFIX}user{number}" for number in range(1, 6))
GONE = f"{PREFIX}gone"
"""A user for a while."""

GROUP = f"{PREFIX}phys"
"""A Unix group with the first of `USERS`."""

PLACE = Path("/var/lib", f"{PREFIX}-tests")
RULE = Path("/etc/sudoers.d", PREFIX)
START_RULE = RULE.with_name(f"{RULE.name}-start")
SITE = f"""
[pool]
administrators = ["{ADMINISTRATOR}"]
[accounting]
uid_domain = "lab"
[groups.physics]
members = ["%{GROUP}"]
[groups.open]
"""
_ONLY_FOR_TESTS = ("pip*", "mypy*", "pytest*", "_pytest", "hypothesis*", "ruff*", "setuptools*", "*fairq*", "*.pth")


def missing() -> str:
    """Return why this host cannot be made, or nothing."""
    if os.getuid() != 0 or not os.environ.get("FAIRQ_TEST_SUDO"):
        return "needs root, and FAIRQ_TEST_SUDO to be set: it makes users and a rule of sudo"
    if not all(map(shutil.which, ("sudo", "visudo", "useradd", PYTHON))):
        return "needs sudo, useradd and the system's Python"
    version = subprocess.run(
        [PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=False, capture_output=True, text=True
    )
    same = version.stdout.strip() == sysconfig.get_python_version()
    return "" if same else f"needs the system's Python to be {sysconfig.get_python_version()}"


@dataclass(frozen=True)
class Host:
    """The host: *place* holds everything that root installs."""

    place: Path

    @property
    def program(self) -> Path:
        """The program that sudo starts."""
        return self.place / "apply"

    @property
    def state(self) -> Path:
        """The state of the pool."""
        return self.place / "pool" / "pool.db"

    @property
    def site(self) -> Path:
        """The site file."""
        return self.place / "xdg" / "fairq" / "fairq.toml"

    def fairq(
        self, user: str, *words: object, stdin: str | None = None, before: Callable[[], None] | None = None,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """Run a command line of fairq as *user*; *before* runs in the process of the user."""
        return subprocess.run(
            [str(self.place / "fairq"), *map(str, words)], input=stdin, stdin=None if stdin else subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=120, preexec_fn=before,
            **as_user(user), cwd=self.home(user), env=self.environment(user) | environment,
        )  # fmt: skip

    def environment(self, user: str) -> dict[str, str]:
        """Return the environment of *user*."""
        home = str(self.home(user))
        return {"PATH": "/usr/bin:/bin", "HOME": home, "USER": user, "XDG_CONFIG_DIRS": str(self.place / "xdg")}

    def home(self, user: str) -> Path:
        """Return the home directory of *user*."""
        return self.place / "home" / user

    def configure(self, text: str) -> None:
        """Write the site file: where the pool is, and *text*, which begins inside the table ``pool``."""
        parts = f'[pool]\nstate = "{self.state}"\nprogram = "{self.program}"\naccount = "{ACCOUNT}"\n'
        self.site.write_text(parts + text.strip().removeprefix("[pool]"))


def as_user(user: str) -> dict[str, Any]:
    """Return the arguments of `subprocess` that make a process one of *user*."""
    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": os.getgrouplist(user, entry.pw_gid)}


@contextmanager
def host() -> Iterator[Host]:
    """Make the accounts, the program and the rule of sudo, and take them back.

    One run of the tests at a time has them; the next waits. What a run left that was killed is taken back first.
    """
    with _alone():
        _take_back()
        try:
            yield _made()
        finally:
            _take_back()


@contextmanager
def _alone() -> Iterator[None]:
    rules = os.open(RULE.parent, os.O_RDONLY)
    try:
        fcntl.flock(rules, fcntl.LOCK_EX)
        yield
    finally:
        os.close(rules)


def _made() -> Host:
    made = Host(PLACE)
    made.place.mkdir()
    made.place.chmod(0o755)
    _make_users()
    _install(made)
    for user in (ACCOUNT, ADMINISTRATOR, *USERS, *MORE):
        made.home(user).mkdir(parents=True, mode=0o755)
        os.chown(made.home(user), pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
    made.state.parent.mkdir()
    account = pwd.getpwnam(ACCOUNT)
    os.chown(made.state.parent, account.pw_uid, account.pw_gid)
    made.state.parent.chmod(0o711)
    made.site.parent.mkdir(parents=True)
    made.configure(SITE)
    RULE.write_text(
        f'Cmnd_Alias {PREFIX.upper()} = {made.program} ""\n'
        f"Defaults!{PREFIX.upper()} env_reset, !env_keep, !env_check, !setenv, "
        'secure_path="/usr/sbin:/usr/bin:/sbin:/bin", closefrom=3, !closefrom_override, umask=0077, '
        'umask_override, !use_pty, !requiretty, !lecture, runcwd="/"\n'
        f"ALL ALL=({ACCOUNT}:{ACCOUNT}) NOPASSWD: {PREFIX.upper()}\n"
    )
    RULE.chmod(0o440)
    subprocess.run(["visudo", "-c"], check=True, capture_output=True)
    return made


def _make_users() -> None:
    subprocess.run(["groupadd", GROUP], check=True, capture_output=True)
    for user in (ACCOUNT, ADMINISTRATOR, *USERS, *MORE):
        member = ["--groups", GROUP] if user == USERS[0] else []
        words = ["useradd", "--no-create-home", "--shell", "/bin/bash", *member, user]
        subprocess.run(words, check=True, capture_output=True)


def _take_back() -> None:
    for rule in (RULE, START_RULE):
        rule.unlink(missing_ok=True)
    for user in (ACCOUNT, ADMINISTRATOR, *USERS, *MORE, GONE):
        with suppress(KeyError):
            for process in processes(pwd.getpwnam(user).pw_uid):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            subprocess.run(["userdel", "--force", user], check=True, capture_output=True)
    with suppress(KeyError):
        grp.getgrnam(GROUP)
        subprocess.run(["groupdel", GROUP], check=True, capture_output=True)
    if PLACE.exists():
        shutil.rmtree(PLACE)


def _install(found: Host) -> None:
    """Install fairq and what it needs so that all users can run it."""
    library = found.place / "lib"
    shutil.copytree(Path(fairq.__file__).parent, library / "fairq", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([PYTHON, "-m", "compileall", "-q", "-j", "2", str(library)], check=True, capture_output=True)
    for folder in site_packages.getsitepackages():
        if Path(folder).is_dir():
            ignored = shutil.ignore_patterns(*_ONLY_FOR_TESTS)
            shutil.copytree(folder, library, ignore=ignored, copy_function=_linked, dirs_exist_ok=True)
    for path in library.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    for path in (library / "fairq").rglob("*.py*"):
        path.chmod(0o644)
    start = f"{head(PYTHON, 'Of the tests.')}sys.path.insert(0, {str(library)!r})\n"
    found.program.write_text(
        f"{start}from pathlib import Path\nfrom fairq.host.verb.main import main\n"
        f"sys.exit(main(Path({str(found.state)!r}), Path({str(found.site)!r})))\n"
    )
    (found.place / "fairq").write_text(f"{start}from fairq.cli.app import main\nsys.exit(main())\n")
    for program in (found.program, found.place / "fairq"):
        program.chmod(0o755)


def fill(made: Host) -> None:
    """Give each of `USERS` a cluster of nine jobs: 1, 2 and 3."""
    from fairq.cli.app import main
    from fairq.state import jobs
    from fairq.state.connection import writing

    named = ["--state", str(made.state), "--config", str(made.site), "-q"]
    for _ in USERS:
        assert main([*named, "submit", "--count", "9", "--", "/bin/true"]) == 0
    with writing(made.state) as opened:
        for cluster, user in enumerate(USERS, 1):
            jobs.change(opened, "", cluster, 0, 8, owner=user, submitter=f"{user}@lab")
    account = pwd.getpwnam(ACCOUNT)
    os.chown(made.state, account.pw_uid, account.pw_gid)
    made.state.chmod(0o600)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def processes(uid: int) -> list[int]:
    """Return the processes of the user *uid*."""
    return [int(place.name) for place in Path("/proc").glob("[0-9]*") if _uid(place) == uid]


def _uid(place: Path) -> int | None:
    try:
        found = re.search(r"^Uid:\s+(\d+)", (place / "status").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None
