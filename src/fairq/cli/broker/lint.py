"""``fairq broker lint``: likely misconfigurations of queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from typer import Argument

from fairq.cli.broker.rules import RulesOption
from fairq.cli.broker.sentences.findings import finding_texts
from fairq.cli.command import App, Context
from fairq.cli.figures import counted
from fairq.cli.options import Now
from fairq.cli.output import Table, View, emit

app = App()

_FIELDS = ("queue", "field", "kind", "value", "meaning", "cure")


@app.listing(
    examples="""
        fairq broker lint                          # every queue
        fairq broker lint CERN
        fairq broker lint --constraint 'field == "fairsharepolicy"'
    """,
)
def lint(
    context: Context,
    queues: Annotated[list[str] | None, Argument(metavar="QUEUE...", help="Check only these queues.")] = None,
    rules: RulesOption = None,
    now: Now = None,
) -> None:
    """List likely queue misconfigurations and how to fix them.

    The rules in force decide: what only PanDA's code takes amiss is not listed under the rules documented.

    Fairshare policies: no any:0 at the end (panda), blanks, unknown fields or types, parts that are never reached,
    values other than zero, and priorities that also apply to merge jobs.

    Limits: a minrss above maxrss, a mintime above maxtime, cores that do not fit the capability, unified queues without
    pseudo queues or without limits, scratch below what every job needs, and a corepower of 0.

    Words: unknown values, and flags of catchall and params that are misspelt or set by another word.

    Software and storage: software lists that are empty or contain "", architectures without arch, AUTO without
    published software, queues without storage, and software, slots and relations of queues that do not exist.

    Nothing is changed. The exit code is 0 if there are no findings and 1 otherwise. A record has queue, field, kind
    (a short name that never changes), value, meaning (its current effect) and cure.
    """
    from fairq.steps.broker.flows import rules_in_force
    from fairq.steps.broker.lists import find_misconfigurations

    invocation, output = context.obj, context.obj.output
    chosen = rules_in_force(invocation.settings, rules)
    findings, number = find_misconfigurations(invocation.state_path, chosen, queues or [], invocation.now(now))
    records = [
        dict(zip(_FIELDS, (*finding[:4], *finding_texts(finding.problem, finding.facts)), strict=True))
        for finding in findings
    ]
    emit(View(tables=[Table(columns=(), records=records, plain=_sentences)], fields=_FIELDS), output)
    if findings:
        raise SystemExit(1)
    queue_count = counted(number, "queue")
    empty = "there are no queues; import them with fairq broker queues import"
    invocation.note(f"no findings in {queue_count}" if number else empty)


def _sentences(records: Sequence[Mapping[str, Any]]) -> str:
    from fairq.cli.output.text import escape

    return "".join(f"{escape(_sentence(record))}\n" for record in records)


def _sentence(record: Mapping[str, Any]) -> str:
    value = f" {record['value']!r}" if record["value"] else ""
    return f"{record['queue']} {record['field']}{value}: {record['meaning']}; {record['cure']}"
