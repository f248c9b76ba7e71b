"""Checking and changing the settings' files, and reading HTCondor's configuration into them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.common.inputs import STANDARD_INPUT, read_bytes, read_once, says_nothing
from fairq.errors.base import (
    ExpressionError,
    FairqError,
    HTCondorConfigError,
    SettingsFileError,
    UsageError,
)
from fairq.errors.pool import EmptyInputError
from fairq.errors.shares import DiracConfigError
from fairq.settings.collect import Collection, Entry, Report, bad_value, parse_document, read_text
from fairq.settings.host_pool import host_destination, host_layers, users_variables
from fairq.settings.htcondor.reader import NotTaken, Reader
from fairq.settings.htcondor.translate import Expressions, Imported, translate
from fairq.settings.layers import Layer, destination, layers, site_file
from fairq.settings.model import Settings, gather, settle
from fairq.settings.names import resolve
from fairq.settings.origin import DEFAULT
from fairq.settings.values import BadValueError, from_text, to_toml

if TYPE_CHECKING:
    from fairq.settings.key import Key
    from fairq.steps.settings_history import Recorder


class SettingsFiles(Struct, frozen=True):
    """The files that settings come from: determined by ``--config``, ``--state`` and the environment.

    For a *host*'s pool, they are the site file and, for a few settings, the user's.
    """

    config: Path | None
    state: Path | None
    environ: Mapping[str, str]
    host: bool = False

    @property
    def destination(self) -> Path:
        """The file that changes go to."""
        return site_file() if self.host else destination(self.config, self.state, self.environ)

    def destination_of(self, name: str) -> Path:
        """Return the file that a change of the setting *name* goes to."""
        return host_destination(name) if self.host else self.destination

    @property
    def layers(self) -> list[Layer]:
        """The files that are read."""
        return host_layers(self.environ) if self.host else layers(self.config, self.state, self.environ)

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables that apply."""
        return users_variables(self.environ) if self.host else self.environ


def check(files: SettingsFiles, file: Path | None) -> list[FairqError]:
    """Return all errors in the settings in force, or in *file* alone, including those in expressions."""
    problems: list[FairqError] = []
    settings = _gathered(files, file, problems.append)
    _check_expressions(settings, problems.append)
    _check_corrections(settings, problems.append)
    return problems


def without_effect(files: SettingsFiles, file: Path | None) -> list[Entry]:
    """Return the entries in the settings in force, or in *file* alone, that have no effect in this version."""
    settings = _gathered(files, file, lambda _: None)
    return [entry for entry in settings if entry.key.without_effect and entry.origin is not DEFAULT]


def _gathered(files: SettingsFiles, file: Path | None, report: Report) -> Settings:
    if file is None:
        return gather(files.layers, files.variables, report)
    return gather([Layer("file", file, required=True)], {}, report)


def settings_with(files: SettingsFiles, sets: Sequence[str]) -> Settings:
    """Return the settings in force, overridden by *sets* (``KEY=VALUE``); raises the errors of both."""
    collection = Collection()
    for layer in files.layers:
        collection.add_layer(layer)
    collection.add_environment(files.variables)
    add_sets(collection, sets)
    collection.check_parents()
    return settle(collection)


def add_sets(collection: Collection, sets: Sequence[str]) -> None:
    """Add the settings in *sets* (``KEY=VALUE``), as ``--set`` has them, to *collection*."""
    option = "--set"
    for text in sets:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(message=f"{option} {text!r} has no value; give KEY=VALUE")
        key, path = resolve(name.strip(), option)
        try:
            converted = from_text(key, value.strip())
            check_value(key, converted)
        except BadValueError:
            raise bad_value(".".join(path), key, value, option) from None
        document: dict[str, Any] = {}
        table = document
        for part in path[:-1]:
            table = table.setdefault(part, {})
        table[path[-1]] = to_toml(key, converted)
        collection.add_document(document, Path(option))


class ImportedConfig(Struct, frozen=True):
    """The result of an import: the *text* of *file*, the settings from *taken* lines, and the lines *not_taken*.

    *former* is the copy of the former file; *settings* are the resulting settings in force; lines *without_effect*
    were taken, but change nothing. *of_dirac*: some of the files are DIRAC's configuration.
    """

    file: Path
    text: str
    document: Mapping[str, Any]
    taken: int
    not_taken: Sequence[NotTaken]
    former: Path | None
    settings: Settings
    without_effect: Sequence[NotTaken] = ()
    of_dirac: bool = False


def import_config(
    settings_files: SettingsFiles, files: Sequence[str], *, recorder: Recorder | None = None, dry_run: bool = False
) -> ImportedConfig:
    """Replace the file for changes by the HTCondor configuration in *files* (``-`` is stdin).

    A file in DIRAC's syntax, recognized by its content, replaces the table ``shares``. If all are such files, the other
    settings stay.

    Raises HTCondorConfigError or DiracConfigError if a file is not such a configuration, SettingValueError for a value
    that HTCondor would refuse, SettingsFileError if a file cannot be read or written, EmptyInputError if the files are
    empty; nothing is then changed.
    """
    texts = [(name, configuration(name)) for name in files]
    return import_texts(settings_files, texts, recorder=recorder, dry_run=dry_run)


def import_texts(
    settings_files: SettingsFiles,
    texts: Sequence[tuple[str, str]],
    *,
    recorder: Recorder | None = None,
    dry_run: bool = False,
) -> ImportedConfig:
    """Do the same with *texts*, the names and contents of the files."""
    from fairq.settings.dirac.cfg import is_cfg
    from fairq.settings.writer import exclusive

    if all(says_nothing(text) for _, text in texts):
        cure = "check the command that writes the configuration, such as condor_config_val -dump"
        raise EmptyInputError(source=" and ".join("stdin" if name == "-" else name for name, _ in texts), cure=cure)
    of_dirac = [(name, text) for name, text in texts if is_cfg(text)]
    of_htcondor = [pair for pair in texts if pair not in of_dirac]
    file = settings_files.destination
    with nullcontext() if dry_run else exclusive(file):
        imported = translated(of_htcondor, settings_files.environ) if of_htcondor else Imported(_document(file))
        if of_dirac:
            _add_dirac(imported, of_dirac)
        sources = ", ".join(Path(name).name if name != "-" else "stdin" for name, _ in texts)
        systems = " and ".join(["HTCondor's"] * bool(of_htcondor) + ["DIRAC's"] * bool(of_dirac))
        origin = f"{systems} configuration ({sources}) by fairq config import"
        return _replace(settings_files, imported, origin, recorder, of_dirac=bool(of_dirac), dry_run=dry_run)


def import_document(
    files: SettingsFiles, document: Mapping[str, Any], origin: str, *, dry_run: bool = False
) -> ImportedConfig:
    """Replace the file for changes by *document*, which comes from *origin*; raises the errors of the settings."""
    from fairq.settings.writer import exclusive

    with nullcontext() if dry_run else exclusive(files.destination):
        return _replace(files, Imported(dict(document)), origin, None, of_dirac=False, dry_run=dry_run)


def _replace(
    files: SettingsFiles, imported: Imported, origin: str, recorder: Recorder | None, *, of_dirac: bool, dry_run: bool
) -> ImportedConfig:
    """Replace the file for changes by the settings *imported* from *origin*; keep the former file."""
    import tomli_w

    from fairq.steps.settings_history import replace_recorded, text_of

    comment = "".join(letter if letter.isprintable() else "?" for letter in origin)
    file, text = files.destination, f"# From {comment}.\n" + tomli_w.dumps(imported.document)
    settings = as_if(files, file, text)
    former = None if dry_run else replace_recorded(file, text_of(file), text, recorder, keep_former=True)
    return ImportedConfig(
        file, text, imported.document, imported.taken, imported.not_taken, former, settings,
        imported.without_effect, of_dirac,
    )  # fmt: skip


def _document(file: Path) -> dict[str, Any]:
    """Return the content of the settings' *file*; empty if it does not exist."""
    try:
        return parse_document(read_text(file), file)
    except FileNotFoundError:
        return {}


def _add_dirac(imported: Imported, texts: Sequence[tuple[str, str]]) -> None:
    """Add the DIRAC configuration in *texts* (files' names and contents) to *imported*."""
    from fairq.settings.dirac.cfg import Section, parse_cfg
    from fairq.settings.dirac.translate import translate as translate_dirac

    root = Section("")
    for name, text in texts:
        root.merge(parse_cfg(text, "stdin" if name == "-" else name))
    translated_shares = translate_dirac(root)
    if not translated_shares.known:
        problem = "holds nothing about task queues and shares; is it DIRAC's configuration?"
        raise DiracConfigError(where=", ".join(name for name, _ in texts), problem=problem)
    imported.document["shares"] = translated_shares.document["shares"]
    imported.taken += translated_shares.taken
    imported.not_taken += translated_shares.not_taken


def translated(texts: Sequence[tuple[str, str]], environ: Mapping[str, str]) -> Imported:
    """Return the settings in HTCondor's configuration; *texts* are the files' names and contents.

    Raises as `import_config`.
    """
    reader = Reader(environ, _evaluate)
    for name, text in texts:
        reader.read(text, "stdin" if name == "-" else name)
    imported = translate(reader, Expressions(check_expression, _evaluate))
    if reader.macros.assigned and not imported.known:
        problem = "holds nothing that HTCondor's negotiator reads; is it HTCondor configuration?"
        raise HTCondorConfigError(where=", ".join(name for name, _ in texts), problem=problem)
    return imported


def as_if(files: SettingsFiles, file: Path, text: str) -> Settings:
    """Return the settings as if *text* were the content of *file*; raises their errors."""
    collection = Collection()
    for layer in files.layers:
        if layer.path == file:
            collection.add_document(parse_document(text, file), file)
        else:
            collection.add_layer(layer)
    collection.add_environment(files.variables)
    collection.check_parents()
    return settle(collection)


def _check_expressions(settings: Settings, report: Report) -> None:
    """Report invalid expressions and patterns that are set; the defaults are valid."""
    pattern = "schedd.remove_significant_attributes_regex"
    try:
        re.compile(settings[pattern] or "")
    except re.error:
        report(settings.refusal(pattern))
    for entry in settings:
        if entry.origin is not DEFAULT:
            try:
                check_value(entry.key, entry.value)
            except BadValueError:
                report(settings.refusal(entry.name))


def _check_corrections(settings: Settings, report: Report) -> None:
    """Report errors in the share corrections."""
    block = settings.block("ShareCorrections")
    if not block:
        return
    from fairq.steps.taskqueues.correctors import start_corrections
    from fairq.steps.taskqueues.policy import read_groups, share_rules

    try:
        rules = share_rules(settings)
        read_groups(settings, {}, rules)
        start_corrections(rules, block, lambda _: {}, 0)
    except FairqError as error:
        report(error)


def configuration(name: str) -> str:
    """Return the text of the configuration file *name*, ``-`` is stdin; raises SettingsFileError."""
    try:
        content = read_bytes(name) if name == STANDARD_INPUT else read_once(Path(name))
    except FileNotFoundError:
        raise SettingsFileError(file=name, problem="there is no such file") from None
    except (OSError, ValueError) as error:
        file = "stdin" if name == STANDARD_INPUT else name
        problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise SettingsFileError(file=file, problem=problem) from None
    if b"\0" in content:
        raise SettingsFileError(file=name, problem="is not a text file; give a configuration file of HTCondor or DIRAC")
    return content.decode("utf-8", "replace").replace("\r\n", "\n")


def check_value(key: Key, value: Any) -> None:
    """Raise BadValueError if *value* has the type of *key*, but is not an expression, name of a resource or price."""
    if value is not None and key.type == "expression":
        check_expression(value)
    elif key.full_name in ("negotiator.dominant_resources", "negotiator.resource_prices"):
        from fairq.steps.cycle.negotiation_policy import price_of, resource_of

        for text in value:
            (price_of if key.name == "resource_prices" else resource_of)(text)


def check_expression(text: str) -> None:
    """Raise BadValueError if *text* is not a ClassAd expression."""
    from fairq.engine.classad import parse

    try:
        parse(text)
    except ExpressionError:
        raise BadValueError from None


def _evaluate(text: str) -> Any:
    from fairq.engine.classad import evaluate_alone, parse

    try:
        return evaluate_alone(parse(text))
    except ExpressionError:
        raise BadValueError from None
