"""What is known of changes that were tried."""

from fairq.engine.explain.changes import Change, ChangeKind
from fairq.steps.why.trials import key_of

ARM, X86 = 'TARGET.Arch == "ARM64"', 'TARGET.Arch == "X86_64"'


def replaced(clause, by):
    return Change(ChangeKind.REQUIREMENTS_CLAUSE, "1.0", by, attribute="requirements", clause=clause)


def test_replacements_of_each_others_clauses_are_two_changes():
    first, second = replaced(ARM, X86), replaced(X86, ARM)
    assert key_of([first, second]) != key_of([second, first])
