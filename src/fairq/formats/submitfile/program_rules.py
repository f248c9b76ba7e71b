"""The job's program: executable, arguments, environment, directory and files.

Source: the manual of ``condor_submit``; ``SetExecutable``, ``SetArguments``, ``SetEnvironment``, ``SetIWD``.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from fairq.common.arguments import (
    joined,
    joined_environment,
    split_arguments,
    split_environment,
    split_quoted,
)
from fairq.common.records import PROC_PLACEHOLDER, Ad
from fairq.formats.submitfile.rules import Commands, Rule, rule

_NULL = "/dev/null"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.")
"""The pattern that condor_submit treats as a URL (``IsUrl``)."""
_VANILLA = 5


def universe(commands: Commands) -> Ad:
    """Return the job's universe: vanilla, with or without a container.

    An image makes a container job, with or without ``universe = container`` (``SetUniverse``, ``SetExecutable``).
    """
    value = commands.raw_text("my.jobuniverse") or commands.text("universe") or "vanilla"
    if value.lower() not in ("vanilla", "docker", "container", str(_VANILLA)):
        raise commands.wrong("universe", value, "fairq takes vanilla, docker and container jobs")
    docker, container = commands.image("docker_image"), commands.image("container_image")
    if value.lower() == "docker" and docker is None:
        raise commands.wrong("universe", value, "a docker job needs docker_image")
    if docker is not None and container is not None:
        raise commands.wrong("container_image", container, "give either container_image or docker_image")
    if value.lower() == "docker":
        return {"JobUniverse": _VANILLA, "WantDocker": True, "DockerImage": docker}
    if docker is not None:
        return {"JobUniverse": _VANILLA, "WantContainer": True, "WantDockerImage": True, "DockerImage": docker}
    if container is None:
        if value.lower() == "container":
            raise commands.wrong("universe", value, "a container job needs container_image or docker_image")
        return {"JobUniverse": _VANILLA}
    if container.startswith(("instance://", "library://", "shub://")):
        raise commands.wrong("container_image", container, "give a docker:// image, a .sif file or a directory")
    attribute, _ = IMAGES[image_kind(container)]
    return {"JobUniverse": _VANILLA, "WantContainer": True, attribute: True, "ContainerImage": container}


IMAGES = {
    "docker": ("WantDockerImage", "HasDockerURL"),
    "sif": ("WantSIF", "HasSIF"),
    "directory": ("WantSandboxImage", "HasSandboxImage"),
}
"""For each kind of a container's image, the attribute of the job and the one that its slot must have."""


def image_kind(container: str) -> Literal["docker", "sif", "directory"]:
    """Return the kind of the image *container* (``image_type_from_string``)."""
    return "docker" if container.startswith("docker:") else "sif" if container.endswith(".sif") else "directory"


def executable(commands: Commands) -> Ad:
    """Return the program and its size; a relative path starts at the directory of the submitting process."""
    if commands.text("shell") is not None:
        return {"Cmd": "/bin/sh", "TransferExecutable": False, **_sizes(commands, 0)}
    name = commands.text("executable")
    in_container = commands.text("docker_image") or commands.text("container_image")
    if name is None:
        if in_container:
            return {"Cmd": "", "TransferExecutable": False, **_sizes(commands, 0)}
        raise commands.wrong("executable", "", "name the program to run")
    if not commands.boolean("transfer_executable", True):
        return {"Cmd": name, **_sizes(commands, 0)}
    path = commands.path(name, commands.context.directory)
    size = 0
    if PROC_PLACEHOLDER not in path and not commands.boolean("skip_filechecks"):
        try:
            if not Path(path).is_file():
                raise commands.wrong(
                    "executable", name, f"there is no file {path}; correct it, or set transfer_executable = false"
                )
            size = -(-Path(path).stat().st_size // 1024)
        except OSError as error:
            raise commands.wrong("executable", name, f"{path} cannot be read: {error.strerror}") from None
        except ValueError:
            raise commands.wrong("executable", name, "it is not a path") from None
    return {"Cmd": path, **_sizes(commands, size)}


def _sizes(commands: Commands, size: int) -> Ad:
    image, disk = _size(commands, "image_size"), _size(commands, "disk_usage")
    return {
        "ExecutableSize": size,
        "ImageSize": size if image is None else image,
        "DiskUsage": max(size, 1) if disk is None else disk,
    }


def _size(commands: Commands, command: str) -> int | None:
    """Return the size in KB that *command* gives."""
    text = commands.text(command)
    if text is None:
        return None
    from fairq.common import quantities

    kilobytes = quantities.size(text, unit=1024)
    if kilobytes is None or kilobytes < 1:
        raise commands.wrong(command, text, "give a positive size, for example 500MB")
    return kilobytes


def arguments(commands: Commands) -> Ad:
    """Return the arguments in the syntax of the description: ``Arguments`` in the new one, ``Args`` in the old one."""
    shell = commands.text("shell")
    if shell is not None:
        return {"Arguments": joined(["-c", shell])}
    new, old = commands.text("arguments2"), commands.text("arguments")
    if new is not None and old is not None and not commands.boolean("allow_arguments_v1"):
        raise commands.wrong("arguments2", new, "give either arguments or arguments2")
    text = new if new is not None else old
    if text is None:
        return {"Arguments": ""}
    try:
        words, is_new = (split_quoted(text), True) if new is not None else split_arguments(text)
    except ValueError as error:
        raise commands.wrong("arguments", text, str(error)) from None
    return {"Arguments": joined(words)} if is_new else {"Args": " ".join(words)}


def environment(commands: Commands) -> Ad:
    """Return the environment; explicit variables override those of ``getenv``."""
    new, old = commands.text("environment2"), commands.text("environment")
    if new is not None and old is not None and not commands.boolean("allow_environment_v1"):
        raise commands.wrong("environment2", new, "give either environment or environment2")
    text = new if new is not None else old
    try:
        variables = split_environment(text) if text is not None else {}
    except ValueError as error:
        raise commands.wrong("environment", text or "", str(error)) from None
    inherited = _inherited(commands)
    return {"Environment": joined_environment({**inherited, **variables})}


def _inherited(commands: Commands) -> dict[str, str]:
    setting = commands.text("getenv")
    if setting is None or setting.lower() in ("false", "no", "0"):
        return {}
    variables = dict(commands.context.environment)
    if setting.lower() in ("true", "yes", "1"):
        return variables
    patterns = setting.replace(",", " ").split()
    excluded = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    included = [pattern for pattern in patterns if not pattern.startswith("!")] or ["*"]
    return {
        name: value
        for name, value in variables.items()
        if any(fnmatchcase(name, pattern) for pattern in included)
        and not any(fnmatchcase(name, pattern) for pattern in excluded)
    }


def _exists(path: str, kind: Literal["any", "dir"] = "any") -> bool:
    """Return whether *path* exists; False if the system refuses the path, for example as too long."""
    try:
        return Path(path).is_dir() if kind == "dir" else Path(path).exists()
    except OSError:
        return False


def directory(commands: Commands) -> Ad:
    """Return the initial working directory, which must exist."""
    path = commands.directory()
    if PROC_PLACEHOLDER not in path and not _exists(path, "dir"):
        value = commands.text("initialdir") or path
        raise commands.wrong("initialdir", value, f"there is no directory {path}; create it first")
    return {"Iwd": path}


def proxy(commands: Commands) -> Ad:
    """Return the file of the job's X.509 proxy, which must exist."""
    file = commands.text("x509userproxy")
    if file is None:
        return {}
    path = commands.path(file, commands.directory())
    if PROC_PLACEHOLDER not in path and not commands.boolean("skip_filechecks") and not _exists(path):
        raise commands.wrong("x509userproxy", file, f"there is no file {path}; create the proxy first")
    return {"x509userproxy": path}


def output_location(commands: Commands) -> Ad:
    """Return the directory of the output, or the destination, which has no effect here."""
    directory, destination = commands.text("output_directory"), commands.text("output_destination")
    if directory is not None and destination is not None:
        raise commands.wrong("output_destination", destination, "give either output_directory or output_destination")
    if directory is not None:
        transfers = (commands.text("should_transfer_files") or "").lower() != "no"
        if transfers and commands.raw_text("transfer_output_files") is None:
            commands.warn("output_directory gets output and error; name further files in transfer_output_files")
        return {"OutputDirectory": directory}
    if destination is None:
        return {}
    if not _URL.match(destination):
        commands.warn("output_destination must be a URL, did you mean output_directory ?")
    return {"OutputDestination": destination}


def standard_files(commands: Commands) -> Ad:
    """Return the files of standard input, output and error; the input file must exist."""
    ad = {
        "In": commands.text("input") or _NULL,
        "Out": commands.text("output") or _NULL,
        "Err": commands.text("error") or _NULL,
    }
    input_file = ad["In"]
    is_checked = PROC_PLACEHOLDER not in input_file + commands.directory() and not commands.boolean("skip_filechecks")
    if is_checked and input_file != _NULL and commands.boolean("transfer_input", True):
        path = commands.path(input_file, commands.directory())
        if not _exists(path):
            raise commands.wrong("input", input_file, f"there is no file {path}")
    return ad


RULES: tuple[Rule, ...] = (
    rule(universe, "universe", "my.jobuniverse", "docker_image", "container_image"),
    rule(
        executable,
        "shell",
        "executable",
        "docker_image",
        "container_image",
        "transfer_executable",
        "skip_filechecks",
        "image_size",
        "disk_usage",
    ),
    rule(output_location, "output_directory", "output_destination", "should_transfer_files", "transfer_output_files"),
    rule(arguments, "shell", "arguments", "arguments2", "allow_arguments_v1"),
    rule(environment, "environment", "environment2", "allow_environment_v1", "getenv"),
    rule(directory, "initialdir"),
    rule(proxy, "x509userproxy", "initialdir", "skip_filechecks"),
    rule(standard_files, "input", "output", "error", "initialdir", "skip_filechecks", "transfer_input"),
)
