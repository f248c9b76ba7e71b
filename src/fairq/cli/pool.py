"""``fairq pool``: the pool that the commands work on, and the reason."""

from __future__ import annotations

from fairq.cli.command import App
from fairq.cli.invocation import Invocation
from fairq.cli.output import Report, View, emit
from fairq.cli.pool_check import add_check
from fairq.cli.pool_host import add_host

app = App(help="Show, check, create and remove pools.", default="show")


@app.command(
    "show",
    examples="""
        fairq pool            # the pool that commands use here
        fairq pool --json     # with the option or variable that names it
    """,
)
def show(invocation: Invocation, output: Report) -> None:
    """Show which pool the commands use, and why.

    A pool is one state file: the one that --state names, otherwise the one that FAIRQ_STATE names, otherwise your own
    in your XDG state directory. Settings come from the files that 'fairq config path' lists.

    The record has the members path, exists, named_by (--state, FAIRQ_STATE or null) and user, the name under which
    your changes are recorded.
    """
    from fairq.cli.invocation import operating_system_user
    from fairq.steps.state import locate

    place = locate(invocation.state_path)
    named_by = invocation.state_named_by
    reason = f"{named_by} names it" if named_by else "your own: neither --state nor FAIRQ_STATE names another"
    exists = "" if place.size is not None else "; the file does not exist yet, the first change creates it"
    user = operating_system_user()
    document = {"path": str(place.path), "exists": place.size is not None, "named_by": named_by, "user": user}
    emit(View(text=f"{place.path} ({reason}{exists})", document=document), output)


add_check(app)
add_host(app)
