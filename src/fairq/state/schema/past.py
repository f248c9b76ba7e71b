"""Tables of what happened: runs, negotiation cycles with their matches, and changes."""

from __future__ import annotations

from fairq.state.schema.guards import guard, refusal

STATEMENTS = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    guard("meta", "key value"),
    """
    CREATE TABLE run (
        id INTEGER PRIMARY KEY,
        schedd TEXT NOT NULL,
        cluster INTEGER NOT NULL,
        proc INTEGER NOT NULL,
        submitter TEXT NOT NULL,
        slot TEXT NOT NULL,
        slot_weight REAL NOT NULL,
        start_time INTEGER NOT NULL,
        end_time INTEGER NOT NULL,
        how TEXT NOT NULL,
        exit_code INTEGER
    )
    """,
    "CREATE INDEX run_job ON run (cluster, proc)",
    refusal("run", "UPDATE"),
    refusal("run", "DELETE"),
    "CREATE INDEX run_end ON run (end_time)",
    guard("run", "id slot_weight start_time exit_code", "schedd? submitter? slot? how?"),
    # The decision is the cycle's JSON document without the matches. It may be forgotten; that the cycle took
    # place may not.
    """
    CREATE TABLE cycle (
        number INTEGER PRIMARY KEY,
        time INTEGER NOT NULL,
        rules TEXT NOT NULL,
        decision TEXT NOT NULL
    )
    """,
    refusal("cycle", "DELETE"),
    """
    CREATE TRIGGER cycle_no_update BEFORE UPDATE ON cycle
    WHEN NEW.number IS NOT OLD.number OR NEW.time IS NOT OLD.time OR NEW.rules IS NOT OLD.rules
        OR NEW.decision IS NOT '{}'
    BEGIN SELECT RAISE(ABORT, 'the cycle table is append-only'); END
    """,
    guard("cycle", "number time", "rules? decision?"),
    # All matches of a cycle. JSON of *runs*: matches in a row that differ only in job and slot, each run as
    # schedd, submitter, reason, who was preempted, jobs as (cluster, first proc, number of procs), and the slots.
    """
    CREATE TABLE match (
        cycle INTEGER PRIMARY KEY REFERENCES cycle (number),
        made INTEGER NOT NULL,
        preempting INTEGER NOT NULL,
        runs TEXT NOT NULL
    )
    """,
    refusal("match", "UPDATE"),
    refusal("match", "DELETE"),
    guard("match", "cycle made preempting", "runs"),
    # What stood there before and after is JSON.
    """
    CREATE TABLE history (
        id INTEGER PRIMARY KEY,
        time INTEGER NOT NULL,
        user TEXT NOT NULL,
        command TEXT NOT NULL,
        subject TEXT NOT NULL,
        before TEXT NOT NULL,
        after TEXT NOT NULL
    , reason TEXT)
    """,
    "CREATE INDEX history_subject ON history (subject)",
    refusal("history", "UPDATE"),
    refusal("history", "DELETE"),
    guard("history", "id time", "user? command? before? after? reason?"),
    # One command's change: entries *first* to *last* of the history. JSON: what stood there before. *undone* is
    # the entry that undid it.
    """
    CREATE TABLE undo (
        first INTEGER PRIMARY KEY,
        last INTEGER NOT NULL,
        time INTEGER NOT NULL,
        user TEXT NOT NULL,
        kind TEXT NOT NULL,
        data TEXT NOT NULL,
        undone INTEGER
    )
    """,
    guard("undo", "first last time undone", "user kind data"),
    # The requests that the pool of a host has fulfilled, so that one that comes again is not done twice. *id*
    # is drawn by who asks, *attempt* by the process that fulfilled it.
    """
    CREATE TABLE request (
        id TEXT PRIMARY KEY,
        attempt TEXT NOT NULL,
        time INTEGER NOT NULL,
        user TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    guard("request", "id attempt time user"),
    "CREATE INDEX request_time ON request (time)",
)
