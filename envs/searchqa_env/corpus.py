"""Cuts the country profiles into passages of at most 50 words, the unit that a search returns.

Neighbouring short fields of a section share a passage; a long field is cut between sentences.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envs.searchqa_env.factbook import Leaf, Profile, profiles

WORDS = 50
"""A passage's most words, its title not counted."""
_SENTENCE = re.compile(r"(?<=[.;?!]) ")


@dataclass(frozen=True, slots=True)
class Passage:
    """One searchable piece of text."""

    id: str
    """The country's code and a hash of title and text: a content id, never a position."""
    title: str
    """Country - Section."""
    text: str
    country: str
    """The country's code."""
    paths: frozenset[tuple[str, ...]]
    """The leaves that this text comes from, in whole or in part."""

    @property
    def contents(self) -> str:
        """Title and text as one string, in the form of the Search-R1 protocol."""
        return f'"{self.title}"\n{self.text}'

    @property
    def indexed(self) -> str:
        """What is searched: the names of the fields count twice, so that a search for a field finds it."""
        return f"{self.title} {' '.join(path[min(1, len(path) - 1)] for path in sorted(self.paths))}\n{self.text}"


@functools.cache
def corpus() -> tuple[Passage, ...]:
    """All passages of all countries, in the order of codes and fields."""
    return tuple(passage for profile in profiles() for passage in passages(profile))


def corpus_hash(texts: Sequence[Passage]) -> str:
    """Identifies a corpus: a hash over all passage ids, which are content hashes themselves."""
    return hashlib.sha256("\n".join(passage.id for passage in texts).encode()).hexdigest()[:16]


def passages(profile: Profile) -> Iterator[Passage]:
    """The passages of one country; equal texts, which the Factbook has, give one passage."""
    seen: set[str] = set()
    for group in _groups(profile):
        passage = _passage(profile, group)
        if passage.id not in seen:
            seen.add(passage.id)
            yield passage


def _groups(profile: Profile) -> Iterator[list[Leaf]]:
    """Consecutive pieces of one section that fit into a passage together."""
    group: list[Leaf] = []
    used = 0
    for piece in (piece for leaf in profile.leaves for piece in _pieces(leaf)):
        words = _words(piece)
        heading = len(_field(piece).split())
        if group and _field(group[-1]) == _field(piece):
            heading = 0
        if group and (piece.path[0] != group[0].path[0] or used + heading + words > WORDS):
            yield group
            group, used, heading = [], 0, len(_field(piece).split())
        group.append(piece)
        used += heading + words
    if group:
        yield group


def _pieces(leaf: Leaf) -> Iterator[Leaf]:
    """The leaf itself, or cuts of it that fit a passage each: between sentences, else between words."""
    room = WORDS - len(_field(leaf).split()) - _words(Leaf(leaf.path, ""))
    part: list[str] = []
    for sentence in _SENTENCE.split(leaf.text):
        words = sentence.split()
        if part and len(part) + len(words) > room:
            yield Leaf(leaf.path, " ".join(part))
            part = []
        part += words
        while len(part) > room:
            yield Leaf(leaf.path, " ".join(part[:room]))
            part = part[room:]
    if part:
        yield Leaf(leaf.path, " ".join(part))


def _field(leaf: Leaf) -> str:
    return leaf.path[min(1, len(leaf.path) - 1)]


def _entry(leaf: Leaf) -> str:
    label = ", ".join(leaf.path[2:])
    return f"{label}: {leaf.text}" if label else leaf.text


def _words(leaf: Leaf) -> int:
    return len(_entry(leaf).split())


def _passage(profile: Profile, group: list[Leaf]) -> Passage:
    """One line a field: ``Capital: name: Luanda; time difference: UTC+1``."""
    fields: dict[str, list[str]] = {}
    for leaf in group:
        fields.setdefault(_field(leaf), []).append(_entry(leaf))
    title = f"{profile.name} - {group[0].path[0]}"
    text = "\n".join(f"{field}: {'; '.join(entries)}" for field, entries in fields.items())
    digest = hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:12]
    return Passage(
        f"{profile.code}-{digest}", title, text, profile.code, frozenset(leaf.path for leaf in group)
    )
