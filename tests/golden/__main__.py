"""``python -m tests.golden FILE_OR_FOLDER...``: run golden cases, one line each."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.golden.cases import cases_in
from tests.golden.run import run_case


def main(arguments: list[str]) -> int:
    """Run the cases of all *arguments*; return 1 if any failed, 2 for wrong use."""
    if not arguments or any(word.startswith("-") for word in arguments):
        sys.stderr.write("usage: python -m tests.golden FILE_OR_FOLDER...\n")
        return 2
    passed = failed = 0
    for argument in arguments:
        path = Path(argument)
        if not path.exists():
            sys.stderr.write(f"{path}: no such file or folder\n")
            return 2
        for case in cases_in(path):
            differences = run_case(case)
            if differences:
                failed += 1
                sys.stdout.write(f"FAILED {case.name}: {'; '.join(differences)}\n")
            else:
                passed += 1
                sys.stdout.write(f"ok {case.name}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{passed} passed, {failed} failed\n")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
