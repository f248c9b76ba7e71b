"""Whatever is imported and done, and in whatever order: the state stays sound, and the next cycle is possible."""

import json
import shutil

from hypothesis import HealthCheck, Phase, given, settings
from tests.properties.pool_lives import AGAIN, NOW, REFUSALS, RENAMED, lives, settings_files

from fairq.common.records import Actor
from fairq.settings import load
from fairq.state import check
from fairq.state.connection import reading
from fairq.steps.cycle.negotiate import negotiate


# The same lives every time: what they find must be seen by whoever broke it.
@settings(
    derandomize=True, max_examples=30, deadline=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(config=settings_files(), life=lives)
def test_state_stays_sound_and_the_next_cycle_is_possible(run, tmp_path_factory, config, life):
    """Hosts are renamed; jobs are moved, doubled, lost; slots come and go; people submit, finish, hold, remove."""
    pool = _Pool(run, tmp_path_factory.mktemp("life"), config)
    now = NOW
    for step, later in life:
        now += later
        pool.take(step, now)
        if pool.state.exists():
            assert pool.faults(pool.state) == []
            copy = shutil.copyfile(pool.state, pool.folder / "copy.db")
            negotiate(copy, pool.settings, Actor("somebody", "negotiate", now + 30))
            assert pool.faults(copy) == []


class _Pool:
    """A state in *folder*, and the command lines on it."""

    def __init__(self, run, folder, config):
        self._run = run
        self.folder = folder
        self.state = folder / "state.db"
        file = folder / "fairq.toml"
        file.write_text(config, encoding="utf-8")
        self.settings = load(file, None, {})

    def fairq(self, *words):
        ended = self._run("--config", self.folder / "fairq.toml", "--state", self.state, *words)
        assert ended.code == 0 or ended.code in REFUSALS, (words, ended.err)
        return str(ended.out)

    def take(self, step, now):
        """Take one step of a life."""
        if step == RENAMED:
            ads = json.loads(self.fairq("export", "--slots", "--now", now))
            for ad in ads:
                stem, at, host = ad["Name"].partition("@")
                ad["Name"] = stem + at + {"a": "b", "b": "a"}.get(host, host)
            step = ("import", "--slots", json.dumps(ads))
        elif step == AGAIN:
            step = ("import", self.fairq("export"))
        words = [self._dump(number, word) if word[:1] in ("[", "{") else word for number, word in enumerate(step)]
        place = words.index("--") if "--" in words else len(words)
        self.fairq(*words[:place], "--now", now, *words[place:])

    def _dump(self, number, content):
        path = self.folder / f"dump{number}"
        path.write_text(content, encoding="utf-8")
        return str(path)

    @staticmethod
    def faults(state):
        with reading(state) as opened:
            return check.findings(opened)
