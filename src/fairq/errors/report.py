"""Errors of reports, pictures and metrics."""

from __future__ import annotations

from fairq.errors.base import FairqError

# 79, 112-115


class ReportFileError(FairqError):
    """{target} cannot be written: {reason}; name another file with --out"""

    exit_code = 112
    summary = "A picture or a file of metrics cannot be written"


class PlotPackageError(FairqError):
    """a picture in a file needs Matplotlib, which is not installed; run "pip install 'fairq[plot]'", or leave out \
    --out"""

    exit_code = 113
    summary = "Matplotlib is not installed"


class MailSettingError(FairqError):
    """nothing can be mailed: mail.command is not set; run 'fairq config set mail.command "mail -s {{subject}} \
    {{to}}"'"""

    exit_code = 115
    summary = "A mail was asked for, and no command for mail is set"


class PoolFaultError(FairqError):
    """{failed} of {checks} checks failed; see the cure of each above"""

    exit_code = 114
    summary = "A check of the pool failed"


class TopPackageError(FairqError):
    """fairq top needs Textual, which is not installed; run "pip install 'fairq[top]'\""""

    exit_code = 70
    summary = "Textual is not installed"


class PagePackageError(FairqError):
    """the page needs Jinja2, which is not installed; run "pip install 'fairq[page]'\""""

    exit_code = 79
    summary = "Jinja2 is not installed"
