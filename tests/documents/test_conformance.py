"""``docs/conformance.md`` is current, and what the tests of the texts say about themselves is right."""

import pytest
from tests.documents.conformance import PAGE, documents, page

from fairq.settings.keys import SINGLE

DOCUMENTS = list(documents())


def test_the_committed_page_is_what_the_tests_say():
    assert PAGE.exists() and PAGE.read_text() == page(), "run python -m tests.documents.conformance"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one.files[0])
def test_every_sentence_has_a_claim_a_place_of_its_own_and_known_rule_points(document):
    for said in document.sentences:
        assert said.claim, f"{said.test} has no docstring"
        for point in said.points:
            assert point in SINGLE and SINGLE[point].point, f"{said.test}: {point} is no rule point"
    places = [place for said in document.sentences for place in said.places]
    assert sorted(places) == sorted(set(places))
    for left_out in document.not_normative:
        assert left_out.why, f"{left_out.place}: why is it not normative?"
