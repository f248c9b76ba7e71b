"""The rules of the house that are not kept everywhere yet: what is left is listed, and the lists may only shrink."""

import ast
import re

from tests import left
from tests.test_architecture import FILES, in_circles, nodes


def found_or_gone(found, known):
    """Return what is new, and what is no more but still on the list."""
    return sorted({module.removeprefix("fairq.") for module in found} ^ set(known))


RIDDLES = {"reach", "rest", "room", "whole", "goal", "kept_out", "suiting", "together", "apart", "told"}
NOUNS = {"accounting", "finding", "import_accounting"}


def test_a_module_is_a_noun_of_the_field():
    def is_odd(name):
        return (name.endswith(("ed", "ing")) or name in RIDDLES) and name not in NOUNS

    found = (name for name in FILES if is_odd(name.rpartition(".")[2]) and ".schema." not in name)
    assert not found_or_gone(found, left.NAMED_BY_A_PARTICIPLE)


def test_modules_lie_in_packages():
    found = (name for name in FILES if name.count(".") == 1 and FILES[name].name != "__init__.py")
    assert not found_or_gone(found, ["__main__"])


def test_what_is_known_is_keyed_by_what_it_depends_on():
    found = (
        name
        for name in FILES
        if any(isinstance(node, ast.Call) and ast.unparse(node.func) == "id" for node in nodes(name))
    )
    assert not found_or_gone(found, left.KEYED_BY_ID)


def test_imports_inside_functions_form_no_circle():
    assert not in_circles(nested=True)


def test_nobody_plays_tricks_on_the_interpreter():
    """No module is hooked, no allocator tuned, no garbage collection switched.

    Supervisors are forked: frozen, their objects stay in memory that they share (the manual of `gc.freeze`).
    """
    forking = {"fairq.launch.root.main", "fairq.launch.supervisor.main"}
    tricks = re.compile(r"sys\.(modules|meta_path|path_hooks)|gc\.\w+|.*\bmallopt")
    assert not [
        f"{module}:{node.lineno} uses {ast.unparse(node)}"
        for module in FILES
        for node in nodes(module)
        if isinstance(node, ast.Attribute) and tricks.fullmatch(ast.unparse(node)) and module not in forking
    ]
