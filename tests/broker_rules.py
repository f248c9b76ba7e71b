"""The two sets of rules of PanDA's brokerage, as the table of rule points has them."""

from fairq.steps.broker.flows import preset

DOCUMENTED = preset("documented")
PANDA = preset("panda")
RULES = {"documented": DOCUMENTED, "panda": PANDA}
