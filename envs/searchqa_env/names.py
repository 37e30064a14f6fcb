"""Other spellings of country names, as data; a name counts as the same in every spelling of its row."""

from __future__ import annotations

SPELLINGS: tuple[tuple[str, ...], ...] = (
    ("United Kingdom", "UK", "Great Britain", "Britain"),
    ("United States", "USA", "US", "United States of America", "America"),
    ("United Arab Emirates", "UAE", "Emirates"),
    ("Soviet Union", "USSR", "Union of Soviet Socialist Republics"),
    ("Burma", "Myanmar"),
    ("Czechia", "Czech Republic"),
    ("Turkey", "Türkiye"),
    ("Eswatini", "Swaziland"),
    ("North Macedonia", "Macedonia"),
    ("Cabo Verde", "Cape Verde"),
    ("Cote d'Ivoire", "Côte d'Ivoire", "Ivory Coast"),
    ("Timor-Leste", "East Timor"),
    ("Korea, South", "South Korea", "Republic of Korea"),
    ("Korea, North", "North Korea", "Democratic People's Republic of Korea", "DPRK"),
    ("Congo (Brazzaville)", "Republic of the Congo", "Congo-Brazzaville"),
    ("DRC", "Democratic Republic of the Congo", "Congo-Kinshasa", "DR Congo"),
    ("Holy See (Vatican City)", "Holy See", "Vatican City", "Vatican"),
    ("Netherlands", "Holland"),
    ("China", "People's Republic of China", "PRC"),
    ("Taiwan", "Republic of China"),
    ("Russia", "Russian Federation"),
    ("Bosnia & Herzegovina", "Bosnia and Herzegovina", "Bosnia"),
    ("NZ", "New Zealand"),
    ("Falkland Islands (Islas Malvinas)", "Falkland Islands", "Islas Malvinas"),
    ("Gaza, Gaza Strip", "Gaza", "Gaza Strip"),
    ("Cocos (Keeling) Islands", "Cocos Islands", "Keeling Islands"),
    ("Bahamas, The", "The Bahamas", "Bahamas"),
    ("Gambia, The", "The Gambia", "Gambia"),
    ("Federated States of Micronesia", "Micronesia"),
    ("Saint Kitts and Nevis", "St. Kitts & Nevis", "St. Kitts and Nevis"),
    ("Saint Lucia", "St. Lucia"),
    ("Saint Vincent and the Grenadines", "St. Vincent and the Grenadines"),
)
_ROW = {name: row for row in SPELLINGS for name in row}
_WITH_ARTICLE = (
    "United ",
    "Netherlands",
    "Philippines",
    "Maldives",
    "Comoros",
    "Federated ",
    "British Indian ",
    "Central African ",
)


def spellings_of(name: str) -> tuple[str, ...]:
    """Every other spelling of a name; () when it has one only."""
    return tuple(other for other in _ROW.get(name, ()) if other != name)


def in_sentence(name: str) -> str:
    """A name as it stands inside a question, with its article where English has one."""
    if name.endswith(", The"):
        name = name.removesuffix(", The")
        return f"the {name}"
    return f"the {name}" if name.startswith(_WITH_ARTICLE) or name.endswith(" Islands") else name
