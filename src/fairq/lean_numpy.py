"""NumPy without what no command needs: docstrings put on its compiled functions, and the types of `numpy.typing`.

They are a third of what importing NumPy costs. Without the docstrings, NumPy is as under ``python -OO``. The types are
loaded when anybody, such as a plugin or Matplotlib, asks for more than the name of one that annotations have.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import GenericAlias, ModuleType
from typing import Any

_DOCSTRINGS = frozenset({"numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars"})
"""Modules that put docstrings in place when they are imported, and hold nothing that is read."""

_TYPES = frozenset({"numpy._typing", "numpy.typing"})


class NDArray:
    """Stands for NumPy's `NDArray` in annotations and type aliases, which nobody reads while a command runs."""

    def __class_getitem__(cls, item: object) -> GenericAlias:
        return GenericAlias(cls, item)


class _Types(ModuleType):
    """A package of types that has `NDArray` by itself, and all else from the real one, loaded then."""

    NDArray = NDArray

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python asks for these while it imports the package
            raise AttributeError(name)
        real = _real(self.__name__)
        vars(self).update(vars(real))
        return getattr(real, name)


class _Path(list[str]):
    """Where a package's modules are. Python only looks whether there is such a path, until one of them is imported."""

    def __init__(self, package: str) -> None:
        super().__init__()
        self._package = package

    def __iter__(self) -> Iterator[str]:
        return iter(_real(self._package).__path__)


class _Lean:
    """Finds and loads these modules in place of the real ones."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        """Return how a module is loaded; None leaves it to others."""
        if name not in _DOCSTRINGS and name not in _TYPES:
            return None
        loader: Any = self
        spec = ModuleSpec(name, loader)
        if name in _TYPES:
            spec.submodule_search_locations = _Path(name)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return the module; None makes an empty one."""
        return _Types(spec.name) if spec.name in _TYPES else None

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""


_LEAN: Any = _Lean()


def make_lean() -> None:
    """Let a later import of NumPy be quick."""
    sys.meta_path.insert(0, _LEAN)


def _real(package: str) -> ModuleType:
    """Return a real *package* of types; from now on, imports find it."""
    if _LEAN in sys.meta_path:
        sys.meta_path.remove(_LEAN)
        for name in _TYPES:
            sys.modules.pop(name, None)
    return import_module(package)
