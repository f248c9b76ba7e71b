"""The rules of the house, read from every module: one test for each rule, which lists all that break it."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
FILES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.glob("fairq/**/*.py"))
}

ARROWS = {
    "cli": {"host", "steps", "settings", "formats", "state", "engine"},
    "host": {"steps", "settings", "formats", "state", "engine"},
    "steps": {"state", "engine", "settings", "formats", "launch"},
    "launch": set(),
    "formats": {"engine"},
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
    "fairq.cli.top.",
    "fairq.columns.idle_jobs",
    "fairq.state.idle_",
    "fairq.state.queue_needs",
    "fairq.columns.claims",
)


@cache
def tree(module):
    return ast.parse(FILES[module].read_text(), str(FILES[module]))


@cache
def nodes(module):
    return tuple(ast.walk(tree(module)))


@cache
def imports(module, nested=True):
    """Return all modules that *module* imports, except for types; those inside functions only if *nested*."""
    return tuple(find_imports(module, nested))


def find_imports(module, nested):
    left_out = set()
    for outer in nodes(module):
        is_inner = not nested and isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        if is_inner or (isinstance(outer, ast.If) and ast.unparse(outer.test).endswith("TYPE_CHECKING")):
            left_out.update(map(id, ast.walk(outer)))
    for node in nodes(module):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            assert node.module
            for name in node.names:
                inner_module = f"{node.module}.{name.name}"
                yield inner_module if inner_module in FILES else node.module


def package(module):
    """Return the layer of *module*, or None if it belongs to none."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "fairq" and parts[1] in ARROWS else None


def folder(module):
    """Return the folder of the engine that *module* is in, or None."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["fairq", "engine"] and len(parts) > 2 and parts[2] in FOLDERS else None


ENGINE = [module for module in FILES if package(module) == "engine"]


def may_import(own, module, imported):
    """Return whether *module*, of the layer *own*, may import *imported*."""
    layer = package(imported)
    if layer is None or layer == own:
        return True
    if own is None:
        return module in ("fairq.__main__", "fairq")
    if own in ("formats", "settings"):
        return layer in ARROWS[own] and imported.startswith(LANGUAGE)
    if own == "cli" and layer == "engine":
        return module in ENGINE_FROM_CLI  # rules belong behind a step
    if own == "cli" and layer == "state":
        return module in STATE_FROM_CLI  # the state belongs behind a step
    return layer in ARROWS[own]


def test_arrows_point_one_way():
    assert not [
        f"{module} imports {imported}"
        for module in FILES
        for imported in imports(module)
        if not may_import(package(module), module, imported)
    ]


def test_arrows_inside_the_engine_point_one_way():
    """What is decided first knows nothing of what is decided by it; the three schemes know nothing of each other."""
    assert not [
        f"{module} imports {imported}"
        for module in FILES
        if (own := folder(module)) is not None
        for imported in imports(module)
        if folder(imported) not in {None, own, *FOLDERS[own]}
    ]


def test_the_engine_is_pure():
    call = re.compile(r"\bdatetime\.(now|today|utcnow)$|^(open|input|print)$")
    assert not [
        f"{module} imports {imported}"
        for module in ENGINE
        for imported in imports(module)
        if imported.split(".")[0] in IMPURE
    ]
    assert not [
        f"{module}:{node.lineno} calls {ast.unparse(node.func)}"
        for module in ENGINE
        for node in nodes(module)
        if isinstance(node, ast.Call) and call.search(ast.unparse(node.func))
    ]


def test_only_the_state_speaks_sql():
    statement = re.compile(r"\s*(SELECT\s.+\sFROM|INSERT\sINTO|UPDATE\s.+\sSET|DELETE\sFROM|PRAGMA)\s", re.S)
    assert not [
        f"{module} imports {imported}"
        for module in FILES
        if package(module) != "state"
        for imported in imports(module)
        if imported.split(".")[0] == "sqlite3"
    ]
    assert not [
        f"{module}:{node.lineno} holds SQL"
        for module in FILES
        if package(module) in ("cli", "steps")
        for node in nodes(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and statement.match(node.value)
    ]


def test_what_starts_slowly_is_imported_where_it_is_used():
    assert not [
        f"{module} imports {imported} at its top"
        for module in FILES
        if not module.startswith(HEAVY_ALLOWED)
        for imported in imports(module, nested=False)
        if imported.split(".")[0] in HEAVY
    ]


def test_click_is_never_imported():
    """Typer brings its own, and that is Typer's."""
    assert not [
        f"{module} imports {imported}"
        for module in FILES
        for imported in imports(module)
        if imported.split(".")[0] == "click" or imported.startswith("typer._click")
    ]


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
    {"software", "timeouts"},
    {"criteria"},
    {"production", "analysis", "lint"},
)
"""The folders and files of the brokerage from the lowest to the highest: each knows only lower ones."""


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


def written(module):
    """Yield the texts of *module* but docstrings and the values of its enumerations, which are what JSON has."""
    silent = {id(node.value) for node in nodes(module) if isinstance(node, ast.Expr)}
    for node in nodes(module):
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Enum") for base in node.bases):
            silent |= {id(inner) for inner in ast.walk(node)}
    for node in nodes(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node


SENTENCE = re.compile(r"[A-Za-z']+(?:,? [A-Za-z']+){4}")
"""Five words in a row: names of PanDA's checks have up to four, and expressions have operators between words."""


def composes_a_sentence(text):
    whole = " ".join(str(part.value) for part in text.values if isinstance(part, ast.Constant))
    return len(re.findall(r"\b[a-z]+\b", whole)) > 4


def test_the_engine_holds_no_sentences():
    """Its reasons, notes and findings are data; `fairq.cli.broker.sentences` and its like have the words."""
    assert not [
        f"{module}:{node.lineno} says {node.value!r}"
        for module in ENGINE
        for node in written(module)
        if "\n" not in node.value and SENTENCE.search(node.value)  # one with several lines is a list
    ]
    assert not [
        f"{module}:{node.lineno} composes a sentence: {ast.unparse(node)}"
        for module in ENGINE
        for node in nodes(module)
        if isinstance(node, ast.JoinedStr) and composes_a_sentence(node)
    ]


SENTENCES_OF_ERRORS = {"cure", "expected", "hint", "message", "problem", "reason"}


def test_errors_of_the_engine_name_a_case():
    """What is wrong and how to mend it is said in `fairq.errors`; the engine gives the facts."""
    assert not [
        f"{module}:{node.lineno} puts {keyword.arg} in words"
        for module in ENGINE
        for node in nodes(module)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error")
        for keyword in node.keywords
        if keyword.arg in SENTENCES_OF_ERRORS
    ]


def key_read(node):
    """Return the constant by which *node* reads a mapping, or None."""
    key: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        key = node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        key = node.args[0]
    return key.value if isinstance(key, ast.Constant) else None


def test_what_comes_from_a_jobs_owner_has_one_reader():
    from fairq.steps.launch.values import KINDS

    assert not [
        f"{module}:{node.lineno} reads {ast.unparse(node)} itself"
        for module in FILES
        if module.startswith(("fairq.steps.launch.", "fairq.launch.")) and module != "fairq.steps.launch.values"
        for node in nodes(module)
        if key_read(node) in KINDS
    ]


def in_circles(nested):
    """Return the modules in circles of imports, those inside functions counted only if *nested*."""
    graph = {module: {name for name in imports(module, nested) if name in FILES} - {module} for module in FILES}
    while graph:
        imported = set().union(*graph.values())
        ends = {module for module, needs in graph.items() if not needs or module not in imported}
        if not ends:
            break
        graph = {module: needs - ends for module, needs in graph.items() if module not in ends}
    return set(graph)


def test_imports_form_no_circle():
    assert not in_circles(nested=False)


def test_files_are_small():
    files = [*FILES.values(), *sorted(Path(__file__).parent.rglob("*.py"))]
    large = [str(path) for path in files if len(path.read_text().splitlines()) > 400]
    assert not large, "above 400 lines: give one of its questions a file of its own"


def test_contributing_names_files_that_are_there():
    """Questions and changes lead to files; those named without a folder are beside the one before."""
    page = (SOURCE.parent / "CONTRIBUTING.md").read_text()
    tables = page[page.index("### Where is") : page.index("\n## Rules")]
    named = re.findall(r"[` ]((?:[a-z_]+/)*[a-z_]+(?:\.py|/))(?=[` ,])", tables)
    assert len(named) > 40
    for name in named:
        places = [*SOURCE.glob(f"fairq/**/{name}"), SOURCE / "fairq" / name, SOURCE.parent / name]
        assert any(place.exists() for place in places), name


def test_every_module_says_what_it_is():
    assert not [name for name in FILES if not ast.get_docstring(tree(name))]


@pytest.mark.parametrize("line", ["--help", "--version", "userprio --quiet", "userprio --json", "_complete job"])
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
def test_no_module_has_the_name_of_what_its_package_loads_on_first_use(package):
    """Once such a module is loaded, Python takes it for the function."""
    loaded = importlib.import_module(package)
    modules = {path.stem for path in Path(str(loaded.__file__)).parent.glob("*.py")}
    assert modules.isdisjoint(loaded.__all__)
