"""The rule points of PanDA's brokerage: where its documentation page and its program give two answers.

A point's name is that of a field of the engine's rules; its two values are those of the rules ``documented`` and
``panda``. Places of the page are named by its headings; functions are those of panda-server.
"""

from __future__ import annotations

from fairq.settings.rule_points.panda.analysis import ANALYSIS
from fairq.settings.rule_points.panda.candidates import CANDIDATES
from fairq.settings.rule_points.panda.needs import NEEDS
from fairq.settings.rule_points.panda.timeouts import TIMEOUTS
from fairq.settings.rule_points.panda.weights import WEIGHTS

POINTS = (*CANDIDATES, *NEEDS, *WEIGHTS, *ANALYSIS, *TIMEOUTS)
