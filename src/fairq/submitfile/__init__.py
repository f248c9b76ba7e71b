"""Submit descriptions: what ``condor_submit`` reads, turned into jobs.

HTCondor's own ``htcondor2.Submit`` parses the text and expands the macros; it makes no job ads without a
schedd, so the ads are built here by ``condor_submit``'s rules (its manual page; ``SubmitHash``).
"""

from fairq.submitfile.description import Description, Program
from fairq.submitfile.external import External
from fairq.submitfile.jobs import JobGroup, Submission, submission
from fairq.submitfile.rules import Context

__all__ = ["Context", "Description", "External", "JobGroup", "Program", "Submission", "submission"]
