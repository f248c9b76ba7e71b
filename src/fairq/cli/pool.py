"""``fairq pool``: the pool that the commands work on, and the reason."""

from __future__ import annotations

from fairq.cli.command import App, Context
from fairq.cli.output import View, emit
from fairq.cli.pool_check import add_check
from fairq.cli.pool_host import add_host
from fairq.cli.pool_pause import add_pause

app = App(help="Show, check, pause, create and remove pools.", default="show")


@app.report(
    "show",
    examples="""
        fairq pool            # the pool that commands use here
        fairq pool --json     # with the option or variable that names it
    """,
)
def show(context: Context) -> None:
    """Show which pool the commands use, and why.

    A pool is one state file: the one that --state names, otherwise the one that FAIRQ_STATE names, otherwise that of
    this host's pool if there is one, otherwise your own in your XDG state directory. To use your own on a host with a
    pool, run 'fairq config set pool.use private'.

    The settings of this host's pool are in the site file. Your own file and variables set only pool.use,
    submit.command_timeout and metrics.submitters. Other pools have the settings of the files that 'fairq config path'
    lists. In this host's pool, a program makes your changes: it runs as the user who owns the pool.

    The record has the members path, exists, named_by (--state, FAIRQ_STATE or null), kind (host, private or named),
    account (the user who owns this host's pool, or null) and user, the name under which your changes are recorded.
    """
    from fairq.cli.invocation import operating_system_user
    from fairq.steps.state import state_file

    invocation, output = context.obj, context.obj.output
    pool = invocation.pool
    named_by = invocation.state_named_by
    path, exists = state_file(pool.state)
    missing = "" if exists else "; the file does not exist yet, the first change creates it"
    host = pool.host
    document = {
        "path": str(path),
        "exists": exists,
        "named_by": named_by,
        "kind": "host" if host else "named" if named_by else "private",
        "account": host.account if host else None,
        "user": operating_system_user(),
    }
    emit(View(text=f"{path} ({pool.reason}{missing})", document=document), output)


add_check(app)
add_pause(app)
add_host(app)
