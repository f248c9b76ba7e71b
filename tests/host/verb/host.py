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
"""The prefix of all names on the host."""

ACCOUNT, ADMINISTRATOR, USERS = f"{PREFIX}pool", f"{PREFIX}adm", (f"{PREFIX}ann", f"{PREFIX}bob", f"{PREFIX}eve")
MORE = tuple(f"{PREFIX}user{number}" for number in range(1, 6))
GONE = f"{PREFIX}gone"
"""A user that is deleted during the tests."""

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
    """Return why this host cannot be created, or the empty text."""
    if os.getuid() != 0 or not os.environ.get("FAIRQ_TEST_SUDO"):
        return "needs root, and FAIRQ_TEST_SUDO to be set: it makes users and a rule of sudo"
    if not all(map(shutil.which, ("sudo", "visudo", "useradd", PYTHON))):
        return "needs sudo, useradd and the system's Python"
    version = subprocess.run(
        [PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=False, capture_output=True, text=True
    )
    is_same = version.stdout.strip() == sysconfig.get_python_version()
    return "" if is_same else f"needs the system's Python to be {sysconfig.get_python_version()}"


@dataclass(frozen=True)
class Host:
    """The host: *directory* holds everything that root installs."""

    directory: Path

    @property
    def program(self) -> Path:
        """The program that sudo starts."""
        return self.directory / "apply"

    @property
    def state(self) -> Path:
        """The state of the pool."""
        return self.directory / "pool" / "pool.db"

    @property
    def site(self) -> Path:
        """The site file."""
        return self.directory / "xdg" / "fairq" / "fairq.toml"

    def fairq(
        self, user: str, *words: object, stdin: str | None = None, before: Callable[[], None] | None = None,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """Run a command line of fairq as *user*; *before* runs in the process of the user."""
        return subprocess.run(
            [str(self.directory / "fairq"), *map(str, words)], input=stdin, stdin=None if stdin else subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=120, preexec_fn=before,
            **as_user(user), cwd=self.home(user), env=self.environment(user) | environment,
        )  # fmt: skip

    def environment(self, user: str) -> dict[str, str]:
        """Return the environment of *user*."""
        home = str(self.home(user))
        return {"PATH": "/usr/bin:/bin", "HOME": home, "USER": user, "XDG_CONFIG_DIRS": str(self.directory / "xdg")}

    def home(self, user: str) -> Path:
        """Return the home directory of *user*."""
        return self.directory / "home" / user

    def configure(self, text: str) -> None:
        """Write the site file: the paths of the pool, and *text*, which begins inside the table ``pool``."""
        parts = f'[pool]\nstate = "{self.state}"\nprogram = "{self.program}"\naccount = "{ACCOUNT}"\n'
        self.site.write_text(parts + text.strip().removeprefix("[pool]"))


def as_user(user: str) -> dict[str, Any]:
    """Return the arguments of `subprocess` that make a process one of *user*."""
    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": os.getgrouplist(user, entry.pw_gid)}


@contextmanager
def host() -> Iterator[Host]:
    """Create the accounts, the program and the rule of sudo; remove them afterwards.

    Only one test run at a time has them; others wait. Leftovers of a killed run are removed first.
    """
    with _locked():
        _clean_up()
        try:
            yield _create_host()
        finally:
            _clean_up()


@contextmanager
def _locked() -> Iterator[None]:
    rules = os.open(RULE.parent, os.O_RDONLY)
    try:
        fcntl.flock(rules, fcntl.LOCK_EX)
        yield
    finally:
        os.close(rules)


def _create_host() -> Host:
    new_host = Host(PLACE)
    new_host.directory.mkdir()
    new_host.directory.chmod(0o755)
    _make_users()
    _install(new_host)
    for user in (ACCOUNT, ADMINISTRATOR, *USERS, *MORE):
        new_host.home(user).mkdir(parents=True, mode=0o755)
        os.chown(new_host.home(user), pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
    new_host.state.parent.mkdir()
    account = pwd.getpwnam(ACCOUNT)
    os.chown(new_host.state.parent, account.pw_uid, account.pw_gid)
    new_host.state.parent.chmod(0o711)
    new_host.site.parent.mkdir(parents=True)
    new_host.configure(SITE)
    RULE.write_text(
        f'Cmnd_Alias {PREFIX.upper()} = {new_host.program} ""\n'
        f"Defaults!{PREFIX.upper()} env_reset, !env_keep, !env_check, !setenv, "
        'secure_path="/usr/sbin:/usr/bin:/sbin:/bin", closefrom=3, !closefrom_override, umask=0077, '
        'umask_override, !use_pty, !requiretty, !lecture, runcwd="/"\n'
        f"ALL ALL=({ACCOUNT}:{ACCOUNT}) NOPASSWD: {PREFIX.upper()}\n"
    )
    RULE.chmod(0o440)
    subprocess.run(["visudo", "-c"], check=True, capture_output=True)
    return new_host


def _make_users() -> None:
    subprocess.run(["groupadd", GROUP], check=True, capture_output=True)
    for user in (ACCOUNT, ADMINISTRATOR, *USERS, *MORE):
        member = ["--groups", GROUP] if user == USERS[0] else []
        words = ["useradd", "--no-create-home", "--shell", "/bin/bash", *member, user]
        subprocess.run(words, check=True, capture_output=True)


def _clean_up() -> None:
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


def _install(pool_host: Host) -> None:
    """Install fairq and its packages so that all users can run it."""
    library = pool_host.directory / "lib"
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
    pool_host.program.write_text(
        f"{start}from pathlib import Path\nfrom fairq.host.verb.main import main\n"
        f"sys.exit(main(Path({str(pool_host.state)!r}), Path({str(pool_host.site)!r})))\n"
    )
    (pool_host.directory / "fairq").write_text(f"{start}from fairq.cli.app import main\nsys.exit(main())\n")
    for program in (pool_host.program, pool_host.directory / "fairq"):
        program.chmod(0o755)


def fill(pool_host: Host) -> None:
    """Give each of `USERS` a cluster of nine jobs: 1, 2 and 3."""
    from fairq.cli.app import main
    from fairq.state import jobs
    from fairq.state.connection import writing

    named = ["--state", str(pool_host.state), "--config", str(pool_host.site), "-q"]
    for _ in USERS:
        assert main([*named, "submit", "--count", "9", "--", "/bin/true"]) == 0
    with writing(pool_host.state) as connection:
        for cluster, user in enumerate(USERS, 1):
            jobs.change(connection, "", cluster, 0, 8, owner=user, submitter=f"{user}@lab")
    account = pwd.getpwnam(ACCOUNT)
    os.chown(pool_host.state, account.pw_uid, account.pw_gid)
    pool_host.state.chmod(0o600)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def processes(uid: int) -> list[int]:
    """Return the processes of the user *uid*."""
    return [int(directory.name) for directory in Path("/proc").glob("[0-9]*") if _uid(directory) == uid]


def _uid(directory: Path) -> int | None:
    try:
        match = re.search(r"^Uid:\s+(\d+)", (directory / "status").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) if match else None
