"""docs/panda.md: its queries run on PanDA's schema, and what they give is imported without a remark."""

from pathlib import Path

import pytest
from tests.grid.published import NOW, Grid
from tests.grid.tables import dumped, queries

from fairq.columns.broker.kinds import KINDS

SAMPLES = Path(__file__).parent.parent / "data" / "panda"
GRID = Grid(sites=3, nuclei=1, queues=3, tasks=4)


def test_every_kind_has_a_query():
    assert queries().keys() == {*KINDS, "config"}


def test_the_queries_give_the_samples():
    """Written by ``python -m tests.documents.test_panda_tables``."""
    assert dumped(Grid(GRID.sites, GRID.nuclei, GRID.queues, GRID.tasks)) == {
        path.stem: path.read_text() for path in SAMPLES.iterdir()
    }


@pytest.mark.parametrize("kind", [*KINDS, "config"])
def test_a_sample_is_imported_as_it_is(run, state, kind):
    sample = SAMPLES / f"{kind}.csv"
    ended = run("--state", state, "broker", kind, "import", sample, "--now", NOW)
    assert (ended.code, ended.out.startswith(f"{kind}: 0")) == (0, False), ended.err
    assert ended.err == ""


if __name__ == "__main__":
    SAMPLES.mkdir(exist_ok=True)
    for name, text in dumped(GRID).items():
        (SAMPLES / f"{name}.csv").write_text(text)
