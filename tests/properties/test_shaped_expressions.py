"""Expressions that differ in constants alone are evaluated as one, and have the values of each."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fairq.engine.classad import AdColumns, evaluate_in_columns, parse
from fairq.engine.negotiation.evaluation import ShapedExpressions

SHAPES = ['Owner == "{0}"', "TARGET.RequestCpus + {1}", '(TARGET.Owner == "{0}") * {1} + (TARGET.RequestMemory > {2})']
SHAPES += ['strcat("{0}", TARGET.Owner)', "{1}", "Other * {1} - {2}.5", "-{1} < {2} ? TARGET.Other : {1}", "Rank + {1}"]
SHAPES += [
    "TARGET.Rank =?= {1}",
    "{{{1}, {2}}}[1] + {1}",
    "undefined",
    "MY.Other || {1} == {2}",
    "9007199254740993 - {1}",
]
EXPRESSIONS = ["Rank", "MY.Rank", "10 * MY.Rank + TARGET.RequestCpus", "isUndefined(MY.Rank)", "TARGET.Rank", "Other"]

texts = st.builds(
    lambda shape, name, one, two: f"/Expr({shape.format(name, one, two)})/",
    *(st.sampled_from(SHAPES), st.sampled_from(["u1", "u2", "U1", ""]), st.integers(0, 5), st.integers(0, 900)),
)
slot = st.fixed_dictionaries(
    {},
    optional={"Rank": texts | st.sampled_from([0.0, 1, True, "x"]), "Other": st.sampled_from([5, "/Expr(Rank)/", "y"])},
)
job = st.fixed_dictionaries(
    {"owner": st.sampled_from(["u1", "u2", "u3"]), "requestcpus": st.integers(1, 2)},
    optional={"rank": st.sampled_from([0, 1.0, "/Expr(TARGET.Memory)/", "/Expr(TARGET.Rank)/"]), "other": texts},
)


@settings(max_examples=200, deadline=None)
@given(st.lists(slot, min_size=1, max_size=8), job, st.sampled_from(EXPRESSIONS))
def test_what_is_put_together_has_the_values_of_each(slots, job, text):
    ads, expression = AdColumns(slots, now=0), parse(text)

    def values():
        found = evaluate_in_columns(expression, ads, job)
        return [repr(found.python(row)) for row in range(len(slots))]

    plain = values()
    texts_before = [repr(ads.json_value(row, "rank")) for row in range(len(slots))]
    shaped = ShapedExpressions(ads, ("Rank",))
    assert values() == plain
    shaped.restore()
    assert values() == plain
    assert [repr(ads.json_value(row, "rank")) for row in range(len(slots))] == texts_before
