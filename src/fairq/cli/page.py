"""``fairq page``: the pool as one page for a browser, and the same as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from typer import Argument

from fairq.cli.command import App, Context
from fairq.cli.options import Now, duration_option, valued
from fairq.common import files
from fairq.errors.report import ReportFileError

app = App()

_MODE = 0o644
"""Mode of the files: a web server or a file share reads them as another user."""

_PAGE, _DATA = "index.html", "pool.json"
_OLD = 3600


@app.command(
    examples="""
        fairq page /var/www/html/pool                   # write index.html and pool.json there
        fairq page ~/public_html --title "Lab server"   # with a title of your own
        fairq page /srv/pool --old-after 15m            # cron writes it every 5 minutes
    """,
)
def page(
    context: Context,
    directory: Annotated[str, Argument(metavar="DIRECTORY", help="Where to write; it is made if it is missing.")],
    title: Annotated[str | None, valued("--title", "Title [default: the name of the host].", "TEXT")] = None,
    old_after: Annotated[
        int | None,
        duration_option("--old-after", "Age from which the page says that it is old [default: 1h]."),
    ] = None,
    now: Now = None,
) -> None:
    """Write the pool as a page for a browser.

    DIRECTORY gets two files, each replaced in one step: index.html, which needs nothing else, and pool.json with
    the same data for programs. Cron writes them, and any web server or file share shows them; nothing runs in
    between.

    The page has the machines with their cores, memory and GPUs and who uses them, groups and users with what they
    are entitled to and what they use, who waits and why, when waiting jobs are forecast to start, the use of the
    last 24 hours and 30 days, and how long jobs waited. In a browser with scripts, tables can be sorted and
    filtered, and a page that is old says so. Everything can be read without scripts, on a telephone, in print, and
    by a screen reader.

    Commands, arguments, directories and environments of jobs are never on the page.

    The page needs Jinja2: pip install 'fairq[page]'.
    """
    from fairq.cli.page_form import html
    from fairq.steps.reports.page import document
    from fairq.steps.reports.page import page as step

    invocation = context.obj
    data = step(invocation.existing_state, invocation.settings, invocation.now(now))
    target = Path(directory)
    texts = {_DATA: json.dumps(document(data), indent=1), _PAGE: html(data, title, old_after or _OLD)}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with files.replacing(files.followed(target / name), _MODE) as stream:
                stream.write(f"{text}\n".encode())
    except OSError as error:
        raise ReportFileError(target=target, reason=error.strerror or error) from error
    invocation.note(f"written: {target / _PAGE}, {target / _DATA}")
