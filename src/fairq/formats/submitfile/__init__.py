"""Submit descriptions: the input of ``condor_submit``, turned into jobs.

HTCondor's own ``htcondor2.Submit`` parses the text and expands the macros, but needs a schedd to make job ads.
Therefore this package builds the ads, by ``condor_submit``'s rules (its manual page; ``SubmitHash``).
"""

from fairq.formats.submitfile.description import Description, time_macros
from fairq.formats.submitfile.external import External
from fairq.formats.submitfile.jobs import JobGroup, Submission, Submissions, submission
from fairq.formats.submitfile.program import Program
from fairq.formats.submitfile.rules import Context

__all__ = [
    "Context", "Description", "External", "JobGroup", "Program", "Submission", "Submissions", "submission",
    "time_macros",
]  # fmt: skip
