"""Batches: the jobs of an owner with one name."""

from __future__ import annotations

from fairq.state.connection import State

_NAME = "JobBatchName"


def in_queue(state: State, name: str) -> list[tuple[str, int]]:
    """Return the schedds and clusters in the queue with jobs of a batch *name*, whoever owns them."""
    return _clusters(state, "job", name)


def of_owner(state: State, owner: str, name: str) -> list[int]:
    """Return the clusters of an *owner*'s batch *name* in the queue; if there is none, the last one that has ended."""
    queued = _clusters(state, "job", name, owner) or _clusters(state, "ended_job", name, owner)[-1:]
    return [cluster for _, cluster in queued]


def _clusters(state: State, table: str, name: str, owner: str | None = None) -> list[tuple[str, int]]:
    of_owner = "TRUE" if owner is None else "owner = ?1 AND schedd = ''"
    of_ad = f"SELECT id FROM job_ad WHERE instr(ad, ?3) AND json_extract(ad, '$.{_NAME}') = ?2"
    query = (
        f"SELECT DISTINCT schedd, cluster FROM {table} WHERE {of_owner} AND (ad_id IN ({of_ad}) "
        f"OR (own IS NOT NULL AND instr(own, ?3) AND json_extract(own, '$.{_NAME}') = ?2)) ORDER BY cluster, schedd"
    )
    return state.connection.execute(query, (owner, name, f'"{_NAME}"')).fetchall()


def ended_since(state: State, since: int) -> list[tuple[str, str, str | None, int, int, int]]:
    """Return the clusters with ended jobs that were submitted at *since* (seconds since 1970) or later.

    These are schedd, owner, name of the batch (None: none), cluster, time of submission, and number of ended jobs.
    """
    name = f"'$.{_NAME}'"
    return state.connection.execute(
        f"WITH named AS MATERIALIZED (SELECT id, json_extract(ad, {name}) AS name FROM job_ad "
        f"WHERE instr(ad, '\"{_NAME}\"')) "
        f"SELECT schedd, owner, coalesce(json_extract(own, {name}), named.name) AS batch, cluster, min(queue_date), "
        "sum(last_proc - first_proc + 1) FROM ended_job LEFT JOIN named ON named.id = ad_id WHERE queue_date >= ? "
        "GROUP BY schedd, owner, batch, cluster",
        (since,),
    ).fetchall()
