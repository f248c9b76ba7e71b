"""The document of a state is indented JSON, however many records it has."""

import io
import json

import pytest

from fairq.common.records import SlotRecord
from fairq.formats.json_form import as_unicode
from fairq.state import slots
from fairq.state.connection import writing
from fairq.steps.pool.export import export_document


@pytest.mark.parametrize("count", [0, 1, 1000, 1001, 2000])
@pytest.mark.parametrize("odd", ["x", "é\n\x7f", "\udcff"])
def test_document_is_indented_by_one(count, odd, state):
    with writing(state) as opened:
        slots.add(
            opened, (SlotRecord(0, f"slot{n}", {"L": [], "O": odd, "F": 1e-5, "D": {}}, "") for n in range(count))
        )
    stream = io.StringIO()

    export_document(state, stream)

    whole = json.loads(stream.getvalue())
    assert [slot["name"] for slot in whole["slots"]] == [f"slot{n}" for n in range(count)]
    assert stream.getvalue() == as_unicode(json.dumps(whole, ensure_ascii=False, indent=1)) + "\n"
