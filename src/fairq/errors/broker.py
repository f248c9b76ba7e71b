"""What can be wrong with the data of the brokerage: exit codes 80 to 99."""

from __future__ import annotations

from fairq.errors.base import FairqError


class RecordsRefusedError(FairqError):
    """{source}, {refused}{others}; {fate}"""

    exit_code = 80


class NoSuchRecordError(FairqError):
    """no record of the {kind} has the {column} {key!r}; 'fairq broker {kind}' lists them"""

    exit_code = 81


class UnknownBrokerSettingError(FairqError):
    """{name!r} is no setting of PanDA's brokerage; {hint}"""

    exit_code = 82


class BrokerSettingValueError(FairqError):
    """{name} = {value!r} is not valid; give {expected} (default {default})"""

    exit_code = 83


class BrokerPluginError(FairqError):
    """the plugin {name} ({value}) cannot be used: {reason}; mend it, or uninstall what brings it"""

    exit_code = 84


class UnknownTaskError(FairqError):
    """there is no task {task}; 'fairq broker tasks' lists them"""

    exit_code = 85


class UnknownQueueError(FairqError):
    """there is no queue {queue!r}; {hint}"""

    exit_code = 86


class NoVerdictError(FairqError):
    """no verdict on task {task} is kept{of}; 'fairq broker run {task}' makes one"""

    exit_code = 87
