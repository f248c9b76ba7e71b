"""The rules of the house, read from the imports of every module."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
FILES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.glob("fairq/**/*.py"))
}

ARROWS = {
    "cli": {"steps", "settings", "dumps", "state", "engine", "words"},
    "steps": {"state", "engine", "settings", "dumps", "submitfile", "launch", "words"},
    "verb": {"steps", "settings", "submitfile", "engine"},
    "launch": set(),
    "words": {"engine"},
    "dumps": {"engine"},
    "submitfile": {"engine"},
    "settings": {"engine"},
    "state": set(),
    "engine": set(),
}
"""Which package may import which; all of them may import the shared records and errors."""

FOLDERS = {
    "classad": set(),
    "accounting": {"classad"},
    "quotas": {"classad", "accounting"},
    "negotiation": {"classad", "accounting", "quotas"},
    "explain": {"classad", "accounting", "quotas", "negotiation"},
    "simulation": {"classad", "accounting", "quotas", "negotiation", "explain"},
    "shares": {"classad"},
    "brokerage": {"classad"},
}
"""Which folder of the engine may import which others; modules beside them are for all."""

LANGUAGE = "fairq.engine.classad"
"""All the engine that files and settings know: they hold expressions, which must parse."""

ENGINE_FROM_CLI = {"fairq.cli.output.constraint", "fairq.cli.output.autoformat"}
"""``--constraint`` and ``--af`` evaluate expressions over what is shown: the one use of the engine."""

STATE_FROM_CLI = {"fairq.cli.completion"}
"""Names for the shell come from the state without a step between: it must be quick at every key press."""

IMPURE = {"os", "time", "random", "secrets", "socket", "subprocess", "sqlite3", "typer", "rich"}
HEAVY = {"numpy", "classad2", "htcondor2", "rich"}
HEAVY_ALLOWED = (
    "fairq.engine.",
    "fairq.steps.",
    "fairq.cli.output.rich_table",
    "fairq.idle_jobs",
    "fairq.state.idle_",
    "fairq.claim_table",
    "fairq.state.claim_columns",
)


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text(), str(FILES[module]))


def imports(module: str, nested: bool = True) -> Iterator[str]:
    """Yield all modules that *module* imports, except for types; those inside functions only if *nested*."""
    inner = {
        id(node)
        for outer in ast.walk(tree(module))
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for node in ast.walk(outer)
    }
    typing_only = {
        id(node)
        for outer in ast.walk(tree(module))
        if isinstance(outer, ast.If) and ast.unparse(outer.test).endswith("TYPE_CHECKING")
        for node in ast.walk(outer)
    }
    for node in ast.walk(tree(module)):
        if id(node) in typing_only or (id(node) in inner and not nested):
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            assert node.module
            for name in node.names:
                inner_module = f"{node.module}.{name.name}"
                yield inner_module if inner_module in FILES else node.module


def package(module: str) -> str | None:
    """Return the layer of *module*, or None if it belongs to none."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "fairq" and parts[1] in ARROWS else None


def folder(module: str) -> str | None:
    """Return the folder of the engine that *module* is in, or None."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["fairq", "engine"] and len(parts) > 2 and parts[2] in FOLDERS else None


@pytest.mark.parametrize("module", FILES)
def test_arrows_point_one_way(module):
    own = package(module)
    for imported in imports(module):
        layer = package(imported)
        if layer is None or layer == own:
            continue
        if own is None:
            assert module in ("fairq.__main__", "fairq"), f"{module} is shared and imports {imported}"
            continue
        assert layer in ARROWS[own], f"{module} imports {imported}"
        if own in ("dumps", "submitfile", "settings"):
            assert imported.startswith(LANGUAGE), f"{module} imports {imported}"
        if own == "cli" and layer == "engine":
            assert module in ENGINE_FROM_CLI, f"{module} imports {imported}: rules belong behind a step"
        if own == "cli" and layer == "state":
            assert module in STATE_FROM_CLI, f"{module} imports {imported}: the state belongs behind a step"


@pytest.mark.parametrize("module", [name for name in FILES if folder(name) is not None])
def test_arrows_inside_the_engine_point_one_way(module):
    """What is decided first knows nothing of what is decided by it; the three schemes know nothing of each other."""
    own = folder(module)
    for imported in imports(module):
        other = folder(imported)
        assert other in {None, own, *FOLDERS[own]}, f"{module} imports {imported}"


@pytest.mark.parametrize("module", [name for name in FILES if package(name) == "engine"])
def test_the_engine_is_pure(module):
    for imported in imports(module):
        assert imported.split(".")[0] not in IMPURE, f"{module} imports {imported}"
    calls = {ast.unparse(node.func) for node in ast.walk(tree(module)) if isinstance(node, ast.Call)}
    impure = re.compile(r"\bdatetime\.(now|today|utcnow)$|^(open|input|print)$")
    assert not {call for call in calls if impure.search(call)}


@pytest.mark.parametrize("module", [name for name in FILES if package(name) != "state"])
def test_only_the_state_speaks_sql(module):
    assert "sqlite3" not in {name.split(".")[0] for name in imports(module)}
    if package(module) != "cli" and package(module) != "steps":
        return
    statement = re.compile(r"\s*(SELECT\s.+\sFROM|INSERT\sINTO|UPDATE\s.+\sSET|DELETE\sFROM|PRAGMA)\s", re.S)
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not statement.match(node.value), f"{module}:{node.lineno} holds SQL"


@pytest.mark.parametrize("module", [name for name in FILES if not name.startswith(HEAVY_ALLOWED)])
def test_what_starts_slowly_is_imported_where_it_is_used(module):
    for imported in imports(module, nested=False):
        assert imported.split(".")[0] not in HEAVY, f"{module} imports {imported} at its top"


def test_click_is_never_imported():
    for module in FILES:
        for imported in imports(module):
            assert imported.split(".")[0] != "click", f"{module} imports Click: Typer brings its own"
            assert not imported.startswith("typer._click"), f"{module} imports what is Typer's own"


@pytest.mark.parametrize("flow, other", [("analysis", "production"), ("production", "analysis")])
def test_the_two_brokerages_share_what_is_one_level_up(flow, other):
    """What both of PanDA's flows need stands above them, not in one of them."""
    flows = "fairq.engine.brokerage."
    of_flow = [module for module in FILES if module.startswith(flows + flow)]
    assert of_flow
    assert [module for module in of_flow if any(one.startswith(flows + other) for one in imports(module))] == []


ROOMS = (
    {"pool"},
    {"jobs"},
    {"flow"},
    {"storage", "software", "timeouts", "lint"},
    {"checks"},
    {"production", "analysis"},
)
"""The folders of the brokerage from the lowest to the highest: each knows only lower ones."""


def test_the_rooms_of_the_brokerage_know_only_lower_ones():
    inside = "fairq.engine.brokerage."
    level = {room: number for number, rooms in enumerate(ROOMS) for room in rooms}
    rooms = {module: module.removeprefix(inside).partition(".")[0] for module in FILES if module.startswith(inside)}
    assert set(rooms.values()) == set(level)
    for module, own in rooms.items():
        for imported in imports(module):
            if imported.startswith(inside):
                other = imported.removeprefix(inside).partition(".")[0]
                assert other == own or level[other] < level[own], f"{module} imports {imported}"


def written(module: str) -> Iterator[ast.Constant]:
    """Yield the texts of *module* but docstrings and the values of its enumerations, which are what JSON has."""
    silent = {id(node.value) for node in ast.walk(tree(module)) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Enum") for base in node.bases):
            silent |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node


SENTENCE = re.compile(r"[A-Za-z']+(?:,? [A-Za-z']+){4}")
"""Five words in a row: names of PanDA's checks have up to four, and expressions have operators between words."""


@pytest.mark.parametrize("module", [name for name in FILES if package(name) == "engine"])
def test_the_engine_holds_no_sentences(module):
    """Its reasons, notes and findings are data; `fairq.words`, `fairq.cli` and the errors have the words."""
    for node in written(module):
        is_list = "\n" in node.value
        assert is_list or not SENTENCE.search(node.value), f"{module}:{node.lineno} says {node.value!r}"
    for outer in ast.walk(tree(module)):
        if isinstance(outer, ast.JoinedStr):
            whole = " ".join(part.value for part in outer.values if isinstance(part, ast.Constant))
            words = re.findall(r"\b[a-z]+\b", whole)
            assert len(words) <= 4, f"{module}:{outer.lineno} composes a sentence: {ast.unparse(outer)}"


SENTENCES_OF_ERRORS = {"cure", "expected", "hint", "message", "problem", "reason"}


@pytest.mark.parametrize("module", [name for name in FILES if package(name) == "engine"])
def test_errors_of_the_engine_name_a_case(module):
    """What is wrong and how to mend it is said in `fairq.errors`; the engine gives the facts."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
            said = SENTENCES_OF_ERRORS & {keyword.arg for keyword in node.keywords}
            assert not said, f"{module}:{node.lineno} puts {', '.join(sorted(said))} in words"


@pytest.mark.parametrize(
    "module", [name for name in FILES if name.startswith(("fairq.steps.launch.", "fairq.launch."))]
)
def test_what_comes_from_a_jobs_owner_has_one_reader(module):
    if module == "fairq.steps.launch.values":
        return
    from fairq.steps.launch.values import KINDS

    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Subscript):
            key: ast.expr | None = node.slice
        else:
            is_get = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get"
            key = node.args[0] if isinstance(node, ast.Call) and is_get and node.args else None
        assert not isinstance(key, ast.Constant) or key.value not in KINDS, f"{module} reads {ast.unparse(node)} itself"


def test_imports_form_no_circle():
    graph = {
        module: {name for name in imports(module, nested=False) if name in FILES and name != module} for module in FILES
    }
    while leaves := {module for module, needs in graph.items() if not needs & graph.keys()}:
        graph = {module: needs for module, needs in graph.items() if module not in leaves}
    assert not graph, f"imports in a circle among {sorted(graph)}"


@pytest.mark.parametrize("path", [*FILES.values(), *sorted(Path(__file__).parent.rglob("*.py"))], ids=str)
def test_files_are_small(path):
    assert len(path.read_text().splitlines()) <= 400


def test_contributing_names_files_that_are_there():
    """The questions of a newcomer lead to files; those named without a folder are beside the one before."""
    page = (SOURCE.parent / "CONTRIBUTING.md").read_text()
    table = page[page.index("### Where is") :].partition("\n\nA docstring")[0]
    named = re.findall(r"`([a-z_/]+(?:\.py|/))`", table)
    assert len(named) > 12
    for name in named:
        places = SOURCE.glob(f"fairq/**/{name}") if "/" not in name else [SOURCE / "fairq" / name]
        assert any(place.exists() for place in places), name


def test_every_module_says_what_it_is():
    assert not [name for name in FILES if not ast.get_docstring(tree(name))]


@pytest.mark.parametrize("line", ["--help", "--version", "userprio", "userprio --json", "_complete job"])
def test_a_cold_start_loads_neither_numpy_nor_the_classad_library(line, tmp_path):
    script = (
        "import sys; from fairq.cli.app import main; main(sys.argv[1:]);"
        "sys.stderr.write(' '.join({'numpy', 'classad2', 'htcondor2', 'rich'} & sys.modules.keys()))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, *line.split()],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stderr == ""


@pytest.mark.parametrize("package", ["fairq.cli.output", "fairq.engine.classad"])
def test_no_module_has_the_name_of_what_its_package_loads_on_first_use(package: str) -> None:
    """Once such a module is loaded, Python takes it for the function."""
    loaded = importlib.import_module(package)
    modules = {path.stem for path in Path(str(loaded.__file__)).parent.glob("*.py")}
    assert modules.isdisjoint(loaded.__all__)
