r"""Tidies the spelling of LaTeX: delimiters, sizes, styles, spacing and the many names of one command.

Strings in, strings out; nothing here knows algebra, numbers or units.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from envs.math_env.symbols import to_latex

_TEXT = r"\\(?:text|mathrm|mbox|textrm|textit|textbf|mathit|mathsf) ?"
_Rule = tuple[str, str | Callable[[re.Match[str]], str]]
_COMMANDS: list[_Rule] = [
    (r"\\(?:left|right|middle|[bB]igg?[lrm]?)(?![A-Za-z])\.?", ""),
    (
        r"\{\s*\\(?:bf|rm|it|sf|tt)(?![A-Za-z])\s*([^{}]*)\}|\\(?:bf|rm|it|sf|tt)\s*\{([^{}]*)\}",
        r"\\mathrm{\1\2}",
    ),
    (
        r"\\(?:(?:display|text|script|scriptscript)style|(?:no)?limits|bf|rm|it|sf|tt|bfseries|boldmath|tiny|small"
        r"|normalsize|large|Large|LARGE|huge|Huge|strut|mathstrut)(?![A-Za-z])|(?<!\\)\\!",
        "",
    ),
    (r"\\(?:text)?color\s*\{[A-Za-z]+\}", ""),
    (r"\\(?:[hv]?phantom|label|tag|[hvm]space\*?)\s*\{[^{}]*\}", " "),
    (r"\\(?:SI|qty)\s*\{([^{}]*)\}\s*\{([^{}\\]*)\}", r"\1 \\text{\2}"),
    (r"\\(?:si|unit)\s*\{([^{}\\]*)\}", r"\\text{\1}"),
    (r"\\(?:[dtc]|nice|flat|s)frac(?![A-Za-z])", r"\\frac"),
    (r"\{((?:[^{}]|\{[^{}]*\})*)\\over(?![A-Za-z])((?:[^{}]|\{[^{}]*\})*)\}", r"\\frac{\1}{\2}"),
    (r"^((?:[^{}]|\{[^{}]*\})*)\\over(?![A-Za-z])((?:[^{}]|\{[^{}]*\})*)$", r"\\frac{\1}{\2}"),
    (r"\\lbrace(?![A-Za-z])", r"\\{"),
    (r"\\rbrace(?![A-Za-z])", r"\\}"),
    (r"\\(?:langle|lparen)(?![A-Za-z])", "("),
    (r"\\(?:rangle|rparen)(?![A-Za-z])", ")"),
    (r"\\lbrack(?![A-Za-z])", "["),
    (r"\\rbrack(?![A-Za-z])", "]"),
    (r"\\[lr]vert(?![A-Za-z])", "|"),
    (r"(?<!\\)\\[()]", ""),
    (r"\\imath(?![A-Za-z])", "i"),
    (r"\\(?:text|math)dollar(?![A-Za-z])", r"\\$"),
]
_NUMBERS: list[_Rule] = [
    (r"(?<![A-Za-z])\{\s*,\s*\}|\\text\s*\{,\}", ","),
    (r"(?<=\d)\{?(?:\\[,;: ]|~)\}?(?=\d{3}(?!\d))", ""),
    (
        r"(?<![\w.,'])(\d{1,3}(?:'\d{3})+|\d{1,3}(?:_\d{3})+)(?![\w'])",
        lambda match: re.sub("['_]", "", match[1]),
    ),
    (r"\\dot\s*\{?(\d)\}?(\d*)\\dot\s*\{?(\d)\}?", r"\\overline{\1\2\3}"),
    (r"(?<=[.\d])\\(?:bar|dot|overline)\s*(?:\{(\d+)\}|(\d))", r"\\overline{\1\2}"),
    (r"(?<![\w.])(\d*\.\d*)\((\d+)\)(?![\d(])", r"\1\\overline{\2}"),
    (
        r"(?<![\w\\}])(\d+\.?\d*|\.\d+)(?:[eE]|\\(?:text|mathrm)\s*\{[eE]\})([-+]?\d+)(?! ?_|[\w.])",
        r"\1\\times 10^{\2}",
    ),
    (r"(?<=\d) ?[xX] ?(?=10 ?(?:\^|\*\*))", r"\\times "),
    (r"\*\* ?(-?\d+)", r"^{\1}"),
]
_SPACES: list[_Rule] = [(r"(?<!\\)\\[,;: ]|~|\\q?quad(?![A-Za-z])|\s", " "), (rf"{_TEXT}\{{ *\}}", " ")]
_SIGNS: list[_Rule] = [
    (r"\\(?:leq(?:slant|q)?|le)(?![A-Za-z])|\\not ?(?:>|\\gt(?![A-Za-z]))|<=|=<", r"\\le "),
    (r"\\(?:geq(?:slant|q)?|ge)(?![A-Za-z])|\\not ?(?:<|\\lt(?![A-Za-z]))|>=", r"\\ge "),
    (r"\\neq?(?![A-Za-z])|!=|\\not ?=", r"\\ne "),
    (r"\\lt(?![A-Za-z])", "<"),
    (r"\\gt(?![A-Za-z])", ">"),
    (rf"{_TEXT}\{{ ?,? ?and ?,? ?\}}|\\(?:land|wedge)(?![A-Za-z])| (?:AND|And) ", " and "),
    (rf"{_TEXT}\{{ ?,? ?or ?,? ?\}}|\\(?:lor|vee)(?![A-Za-z])| (?:OR|Or) ", " or "),
    (rf"{_TEXT}\{{ ?, ?\}}", ", "),
    (r"\\bigcup(?![A-Za-z])|(?<=[)\]\[]) ?U ?(?=[(\[\]])", r"\\cup "),
    (r"\\bigcap(?![A-Za-z])", r"\\cap "),
    (r"(\\mathbb ?\{?[RZNQC]\}?|\\R) ?- ?(?=\\\{)", r"\1\\setminus "),
    (r"(?<![A-Za-z ])\{ ?\\?% ?\}", r"\\%"),
    (rf"{_TEXT}\{{ ?(\\?\$|€|£|¥|₹|\\?%) ?\}}", r"\1"),
    (rf"{_TEXT}\{{([ei])\}}", r"\1"),
    (r"^([-+]?) ?(?:US ?\\?\$|USD(?=[ \d]))", r"\1\\$"),
    (r"\bU\.?S\.? dollar", "dollar"),
    (r"\\(?:text)?degree(?![A-Za-z])", r"^\\circ "),
    (rf"(?<=[\d}}]) ?\^ ?(?:o(?![A-Za-z])|{_TEXT}\{{o\}}|\{{ ?(?:o|{_TEXT}\{{o\}}) ?\}})", r"^\\circ "),
    (r"\^ ?(\{?) ?\^ ?\\circ", r"^\1\\circ"),
    (rf"(?<=\d) ?\\cdot ?(?={_TEXT}\{{)", " "),
    (rf"\\frac ?\{{ ?{_TEXT}\{{([^{{}}]*)\}} ?\}} ?\{{ ?{_TEXT}\{{([^{{}}]*)\}} ?\}}", r"\\text{\1/\2}"),
    (r"(?<![A-Za-z\\])(sqrt|sin|cos|tan|ln|log|pi|infty)(?![A-Za-z])", r"\\\1"),
    (r"(?<![A-Za-z\\])(?:infinity|oo)(?![A-Za-z])", r"\\infty"),
    (r" {2,}", " "),
]
_REWRITES = [(re.compile(pattern), new) for pattern, new in (*_COMMANDS, *_NUMBERS, *_SPACES, *_SIGNS)]
_STYLES = (
    r"text(?:bf|it|rm|normal|sf|tt|up|sc|color)?|math(?:bf|it|rm|sf|tt|normal|cal)|mbox|hbox|fbox|boldsymbol|bm|pmb"
    r"|emph|underline|ensuremath|operatorname\*?"
)
_WHOLE = re.compile(rf"\\(?:{_STYLES})\s*\{{")
_WRAPPED = re.compile(rf"\\(?:{_STYLES})\s*\{{((?:[^{{}}\\]|\\.)*)\}}")
_NUMERIC = re.compile(r"[-+]?[\d.,/ ]+(?:\\?%)?")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_ANSWER = r"(?:the )?(?:final )?answer"
_LABEL = re.compile(rf"(?:{_TEXT}\{{ ?{_ANSWER}(?: is)? ?:? ?\}}|{_ANSWER} ?(?:is:?|:)) ?", re.IGNORECASE)
_DELIMITERS = (
    ("\\(", "\\)"), ("\\[", "\\]"), ("**", "**"), ("__", "__"), ("*", "*"), ("`", "`"), ('"', '"'), ("'", "'"),
)  # fmt: skip


def tidy(text: str) -> str:
    r"""One spelling for one meaning: drops delimiters, sizes, styles and spacing; keeps ``\text`` units."""
    text = _undelimited(to_latex(text).strip())
    text = _drop_dollars(text)
    for pattern, new in _REWRITES:
        text = pattern.sub(new, text)
    if "&" in text and "\\begin" not in text:
        text = re.sub(r" ?\\?& ?", " and ", text)
    text = _LABEL.sub("", _unwrap_styles(text.strip()), count=1)
    text = text.removesuffix("\\\\").strip()
    return text[:-1].rstrip() if text.endswith((".", ",", ";")) and not text.endswith("\\,") else text


def _undelimited(text: str) -> str:
    """Without marks around the whole: maths delimiters, Markdown, quotes."""
    for opening, closing in _DELIMITERS:
        inner = text[len(opening) : -len(closing)]
        if inner and text.startswith(opening) and text.endswith(closing) and closing not in inner:
            text = inner.strip()
    return text


def _drop_dollars(text: str) -> str:
    """Paired dollars are math delimiters; a single one before a number is money."""
    bare = re.findall(r"(?<!\\)\$", text)
    return text if len(bare) % 2 and text.startswith("$") else re.sub(r"(?<!\\)\$", "", text)


def _unwrap_styles(text: str) -> str:
    """Drop styles around the whole text, and around plain numbers and single letters anywhere."""
    while (whole := _WHOLE.match(text)) and _closing(text, whole.end()) == len(text) - 1:
        text = text[whole.end() : -1].strip()

    def inner(match: re.Match[str]) -> str:
        content = match.group(1).strip()
        number = _NUMERIC.fullmatch(content) and match.start() == 0
        bold = match.group().startswith(("\\mathbf", "\\boldsymbol", "\\bm", "\\mathit", "\\pmb"))
        return content if number or bold else match.group()

    return _WRAPPED.sub(inner, text)


def _closing(text: str, start: int) -> int:
    """Position of the brace that closes a group whose content begins at ``start``; -1 without one."""
    depth = 1
    for token in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if depth == 0:
            return token.start()
    return -1
