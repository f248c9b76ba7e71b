"""What can be wrong with the data of the brokerage: exit codes 80 to 99 and 116 to 118."""

from __future__ import annotations

from fairq.errors.base import FairqError


class RecordsRefusedError(FairqError):
    """{source}, {refused}{others}; {fate}"""

    exit_code = 80
    summary = "Some or all records of an import were refused"


class NoSuchRecordError(FairqError):
    """no record of the {kind} has the {column} {key!r}; list them with 'fairq broker {kind}'"""

    exit_code = 81
    summary = "No broker record has this key"


class UnknownBrokerSettingError(FairqError):
    """{name!r} is not a setting of PanDA's brokerage; {hint}"""

    exit_code = 82
    summary = "There is no brokerage setting of this name"


class BrokerSettingValueError(FairqError):
    """{name} = {value!r} is not valid; give {expected} (default {default})"""

    exit_code = 83
    summary = "A brokerage setting has an invalid value"


class BrokerPluginError(FairqError):
    """the plugin {name} ({value}) cannot be used: {reason}; fix or uninstall its package"""

    exit_code = 84
    summary = "A plugin of the brokerage cannot be used"


class UnknownTaskError(FairqError):
    """there is no task {task}; list the tasks with 'fairq broker tasks'"""

    exit_code = 85
    summary = "There is no task of this number"


class UnknownQueueError(FairqError):
    """there is no queue {queue!r}; {hint}"""

    exit_code = 86
    summary = "There is no broker queue of this name"


class NoVerdictError(FairqError):
    """no decision{of} about task {task} is stored; make one with 'fairq broker run {task}'"""

    exit_code = 87
    summary = "No decision about this task is stored"


class FormerVerdictError(FairqError):
    """the stored decision has the form of an older fairq, which this one does not read; make new ones with \
    'fairq broker run --all'"""

    exit_code = 123
    summary = "A stored decision about a task has the form of an older fairq"


class UnknownFilesError(FairqError):
    """{source}: {what}{others} cannot be identified; name each file after its kind, for example queues.json, or \
    leave them out with --lenient; nothing was changed"""

    exit_code = 116
    summary = "Files of a broker import cannot be identified"


class RecordsSoftenedError(FairqError):
    """{source}, {problem}{others}; {fate}; correct the values, or accept them with --lenient"""

    exit_code = 117
    summary = "Some values of an import were read as other values"


class NoSuchRunError(FairqError):
    """no brokerage run {number} is stored; {hint}"""

    exit_code = 118
    summary = "No brokerage run of this number is stored"
