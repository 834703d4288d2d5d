"""The one way in which the core reaches agents, checkers and other parts: by "module:Name" strings."""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from workflow_gym.errors import PluginError


def load_object(spec: str, label: str) -> Any:
    """Import what a "module:Name" string names.

    The working folder counts as importable, so that a script beside the caller can be named.

    Args:
        spec: such as "my_package.my_module:MyAgent".
        label: what it is meant to be, for the error's text.

    Raises:
        PluginError: the string is malformed, the module cannot be imported, or it has no such name.
    """
    module_name, colon, name = spec.partition(":")
    if not (colon and module_name and name):
        raise PluginError(f"{label} {spec!r} must look like 'package.module:Name'")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise PluginError(f"{label} {spec!r}: no module named {error.name!r} (is its package installed?)") from error
    except (Exception, SystemExit) as error:
        raise PluginError(f"{label} {spec!r}: importing {module_name} failed: {error!r}") from error
    try:
        return getattr(module, name)
    except AttributeError:
        public = [key for key in vars(module) if not key.startswith("_")]
        raise PluginError(f"{label} {spec!r}: {module_name} has no {name!r}; it has {', '.join(public[:20])}") from None


def load_class[T](spec: str, base: type[T], label: str) -> type[T]:
    """Import a class and make sure that it derives from `base`.

    Raises:
        PluginError: as `load_object`, or the object is no subclass of `base`, or lacks methods that `base` demands.
    """
    found = load_object(spec, label)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise PluginError(f"{label} {spec!r} must be a subclass of {base.__module__}.{base.__qualname__}")
    if lacking := getattr(found, "__abstractmethods__", ()):
        raise PluginError(f"{label} {spec!r} lacks the methods {', '.join(sorted(lacking))}")
    return found


def third_party(group: str) -> dict[str, str]:
    """Return the entry points of `group` as name → "module:Name"."""
    return {point.name: point.value for point in entry_points(group=group)}
