"""Compare a run with changed settings or queues to one without the changes; store neither."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fairq.columns.broker.column import UnfitError, named_value
from fairq.columns.broker.places import QUEUES
from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.pool.world import Queue, World
from fairq.errors.nearest import nearest
from fairq.errors.simulation import InvalidChangeError
from fairq.state.connection import reading
from fairq.steps.broker.config import Value, checked
from fairq.steps.broker.diff import Difference, difference_of
from fairq.steps.broker.flows import Watch, rules_in_force, unwatched
from fairq.steps.broker.plugins import load_plugins
from fairq.steps.broker.run import decide, due, stored_form
from fairq.steps.broker.world import unknown_queue
from fairq.steps.config import settings_with
from fairq.steps.quotas.source import read_settings

if TYPE_CHECKING:
    from fairq.settings import Settings
    from fairq.steps.config import SettingsFiles

_OWN = "broker."
"""fairq's settings begin with it; all others are PanDA's."""


class GridChange(Struct, frozen=True):
    """The changes to try out, as typed.

    Args:
        other: a settings file, used alone.
        sets: settings of fairq (``broker.KEY=VALUE``) or of PanDA (``COMPONENT.KEY=VALUE``).
        queues: fields of queues, ``NAME.FIELD=VALUE``.
    """

    other: str | None = None
    sets: Sequence[str] = ()
    queues: Sequence[str] = ()

    @property
    def words(self) -> str:
        """The changes in short, for a heading."""
        return ", ".join(filter(None, [self.other, *self.sets, *self.queues]))

    def settings(self, settings: Settings, files: SettingsFiles) -> Settings:
        """Return the changed settings of fairq; raises the errors of settings."""
        sets = [text for text in self.sets if text.startswith(_OWN)]
        if self.other is not None:
            return read_settings(self.other, files.environ, sets)
        return settings_with(files, sets) if sets else settings

    def of_world(self, world: World) -> World:
        """Return *world* with the changed queues and settings of PanDA.

        Raises InvalidChangeError, UnknownQueueError, UnknownBrokerSettingError, BrokerSettingValueError.
        """
        config = dict(world.config.given) | dict(map(_setting, (t for t in self.sets if not t.startswith(_OWN))))
        queues = dict(world.queues)
        for text in self.queues:
            name, field, value = _field(text, queues)
            queues[name] = replace(queues[name], **{field: value})
        return replace(world, config=Config(config), queues=queues)


def _setting(text: str) -> tuple[str, Value]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidChangeError(option="--set", value=text, problem="it has no value", cure="give KEY=VALUE")
    return checked(name.strip(), value)


def _field(text: str, queues: dict[str, Queue]) -> tuple[str, str, object]:
    """Return the queue, the field and the value of ``NAME.FIELD=VALUE``."""

    def invalid(problem: str, cure: str) -> InvalidChangeError:
        return InvalidChangeError(option="--queue", value=text, problem=problem, cure=cure)

    target, equals, value = text.partition("=")
    name, dot, spelled = target.rpartition(".")
    if not equals or not dot:
        raise invalid("a change of a queue has a field and a value", "give NAME.FIELD=VALUE")
    if name not in queues:
        raise unknown_queue(name, queues)
    column = QUEUES.spellings.get(spelled.lower())
    if column is None or column.key or column.name not in Queue.__struct_fields__:
        close = nearest(spelled.lower(), QUEUES.spellings)
        cure = f"did you mean {close}?" if close else "'fairq broker queues import --help' lists the fields"
        raise invalid(f"the brokerage reads no field {spelled!r} of queues", cure)
    try:
        converted = named_value(column, value)
    except UnfitError as error:
        raise invalid(str(error), "give another value") from None
    return name, column.name, tuple(converted) if isinstance(converted, list) else converted


def what_if(
    path: Path,
    settings: Settings,
    files: SettingsFiles,
    change: GridChange,
    now: int,
    numbers: Sequence[int] = (),
    *,
    every: bool = False,
    chosen_rules: str | None = None,
    watch: Watch = unwatched,
) -> Difference:
    """Broker tasks at *now* without and with *change*, and compare; store nothing.

    The tasks are those with these *numbers*, *every* task, or those that are due. *watch* shows the progress.

    Raises the errors of `GridChange` and of a run.
    """
    plugins = load_plugins()
    rules: tuple[Rules, Rules] = (
        rules_in_force(settings, chosen_rules),
        rules_in_force(change.settings(settings, files), chosen_rules),
    )
    with reading(path) as state:
        chosen = due(state, now, numbers, every)
        before = decide(state, rules[0], plugins, now, chosen, watch, detailed=False)
        after = decide(state, rules[1], plugins, now, chosen, watch, detailed=False, alter=change.of_world)
    return difference_of(stored_form(before), stored_form(after))
