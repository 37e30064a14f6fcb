"""The environments by name. Adding one is a folder beside this file, and one line here.

An environment's module is imported when its name is used: each has dependencies of its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from envs.base import Environment
from envs.settings import EnvSettings

ENVIRONMENTS = {
    "math": "envs.math_env.env:MathEnvironment",
    "searchqa": "envs.searchqa_env.env:SearchQAEnvironment",
    "chess": "envs.chess_env.env:ChessEnvironment",
}
"""Name on the command line -> ``module:class``."""


class EnvironmentClass(Protocol):
    """What the table's entries are: made from their own kind of settings."""

    Settings: type[EnvSettings]

    def __call__(self, settings: Any) -> Environment:
        """Build tasks and tools; raises ``InputError`` for settings or data that cannot be used."""
        ...


def environment_class(name: str) -> EnvironmentClass:
    """The class of a name of the table."""
    module, _, attribute = ENVIRONMENTS[name].partition(":")
    found: EnvironmentClass = getattr(import_module(module), attribute)
    return found
