"""The table of relations that questions are made of: where a fact stands, how it is asked, how it is read."""

from __future__ import annotations

from dataclasses import dataclass

from envs.searchqa_env import cleaning, people
from envs.searchqa_env.cleaning import Rule


@dataclass(frozen=True, slots=True)
class Relation:
    """One kind of fact about a country."""

    name: str
    paths: tuple[tuple[str, ...], ...]
    """Where the value may stand in a profile; the first that exists counts."""
    question: str
    """Asks for the value; ``{country}`` is a name or, in two-hop questions, a description."""
    rule: Rule
    """Turns the value into accepted answers."""
    anchor: str = ""
    """What the value is called in "the country whose {anchor} is {value}"; "" if it cannot identify one."""
    own_adjective: bool = False
    """Whether the country's own adjective may be left out of the answer: Algerian dinar, dinar."""
    test_only: bool = False
    """Held out of all splits but test, to see what carries over to an unseen kind of question."""


def _at(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(path.split("|")) for path in text.split(" or "))


RELATIONS: tuple[Relation, ...] = (
    Relation(
        "capital",
        _at("Government|Capital|name"),
        "What is the capital of {country}?",
        cleaning.place,
        "capital",
    ),
    Relation(
        "currency",
        _at("Economy|Exchange rates|Currency"),
        "What is the currency of {country}?",
        cleaning.currency,
        own_adjective=True,
    ),
    Relation(
        "highest_point",
        _at("Geography|Elevation|highest point"),
        "What is the highest point of {country}?",
        cleaning.summit,
        "highest point",
    ),
    Relation(
        "highest_elevation",
        _at("Geography|Elevation|highest point"),
        "How high is the highest point of {country}?",
        cleaning.height,
    ),
    Relation(
        "lowest_point",
        _at("Geography|Elevation|lowest point"),
        "What is the lowest point of {country}?",
        cleaning.low_place,
        "lowest point",
    ),
    Relation(
        "anthem",
        _at("Government|National anthem(s)|title"),
        "What is the title of the national anthem of {country}?",
        cleaning.quoted,
        "national anthem",
        test_only=True,
    ),
    Relation(
        "internet_code",
        _at("Communications|Internet country code"),
        "What is the internet country code of {country}?",
        cleaning.internet_code,
        "internet country code",
    ),
    Relation(
        "independence_year",
        _at("Government|Independence"),
        "In which year did {country} gain its independence?",
        cleaning.independence_year,
    ),
    Relation(
        "independence_from",
        _at("Government|Independence"),
        "From which country did {country} gain its independence?",
        cleaning.independence_from,
    ),
    Relation(
        "nationality",
        _at("People and Society|Nationality|adjective"),
        "What is the adjective for the nationality of {country}?",
        cleaning.adjective,
    ),
    Relation(
        "legislature",
        _at("Government|Legislative branch|legislature name"),
        "What is the name of the legislature of {country}?",
        cleaning.assembly,
    ),
    Relation(
        "long_form",
        _at("Government|Country name|conventional long form"),
        "What is the conventional long form of the name of {country}?",
        cleaning.long_form,
    ),
    Relation(
        "chief_of_state",
        _at("Government|Executive branch|chief of state"),
        "Who is the chief of state of {country}?",
        people.person,
        "chief of state",
    ),
    Relation(
        "head_of_government",
        _at("Government|Executive branch|head of government"),
        "Who is the head of government of {country}?",
        people.person,
        "head of government",
    ),
    Relation(
        "ethnic_group",
        _at("People and Society|Ethnic groups"),
        "Which of the ethnic groups of {country} is the largest?",
        cleaning.first_share,
    ),
    Relation(
        "official_language",
        _at("People and Society|Languages|Languages or People and Society|Languages"),
        "What is the official language of {country}?",
        cleaning.official_language,
    ),
    Relation(
        "export_partner",
        _at("Economy|Exports - partners"),
        "Which country takes the largest share of the exports of {country}?",
        cleaning.first_partner,
    ),
    Relation(
        "import_partner",
        _at("Economy|Imports - partners"),
        "From which country does the largest share of the imports of {country} come?",
        cleaning.first_partner,
    ),
    Relation(
        "export_commodity",
        _at("Economy|Exports - commodities"),
        "What is the main commodity among the exports of {country}?",
        cleaning.first_item,
    ),
    Relation(
        "government_type",
        _at("Government|Government type"),
        "What is the government type of {country}?",
        cleaning.first_phrase,
    ),
    Relation(
        "national_symbol",
        _at("Government|National symbol(s)"),
        "What is the national symbol of {country}?",
        cleaning.only_item,
    ),
    Relation(
        "coastline", _at("Geography|Coastline"), "How long is the coastline of {country}?", cleaning.measure
    ),
    Relation("area", _at("Geography|Area|total"), "What is the total area of {country}?", cleaning.measure),
    Relation(
        "aircraft_prefix",
        _at("Transportation|Civil aircraft registration country code prefix"),
        "What is the civil aircraft registration prefix of {country}?",
        cleaning.letters_and_digits,
        "civil aircraft registration prefix",
    ),
    Relation(
        "airports",
        _at("Transportation|Airports"),
        "How many airports are there in {country}?",
        cleaning.count,
    ),
    Relation(
        "largest_city",
        _at("People and Society|Major urban areas - population"),
        "What is the largest urban area of {country} by population?",
        cleaning.largest_city,
    ),
)
