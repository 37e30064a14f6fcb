"""What a candidate's traces say, in numbers that edits can use; and verified replies fit to be quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from whale.archive import Candidate, Trace
from whale.offline import frame
from whale.offline.form import BOX, Form, plain

WORDS_BESIDE_FORM = 10
"""A reply with more approximate tokens than this beside the answer counts as one with steps."""


@dataclass(frozen=True)
class Quote:
    """A question and one reply of the model to it, verbatim, from a rollout that was verified correct."""

    question: str
    reply: str
    kind: str
    """``form`` (the answer and little else), ``steps`` (words, then the answer), ``code`` or ``expression``
    (a tool computed the answer from the reply)."""


@dataclass(frozen=True)
class Evidence:
    """Shares are of rollouts, from 0 to 1; all 0 when there are no traces."""

    rollouts: int = 0
    verdicts: Mapping[str, float] = field(default_factory=dict)
    form: Form = BOX
    """How the environment wants its answers written."""
    no_form: float = 0.0
    """Rollouts whose answer is not in that form, or empty in it."""
    bare_number: float = 0.0
    """Rollouts without the form, not cut, whose answer holds a number."""
    bare_words: float = 0.0
    """The same with words."""
    cut: float = 0.0
    """Rollouts with a reply that ran into a token limit."""
    tools: float = 0.0
    """Rollouts that called a tool."""
    disagree: float = 0.0
    """Calls with several replies whose answers differ, as a share of those calls."""
    tokens: float = 0.0
    """Mean length of a reply, in approximate tokens (words, digits and signs)."""
    correct_tokens: int = 0
    """Approximate tokens that nine in ten replies of correct rollouts stay below; 0 when there are none."""
    quotes: tuple[Quote, ...] = ()
    """From the whole archive, shortest reply first, one per question and kind."""
    pieces: Mapping[str, str] = field(default_factory=dict)
    """Pieces that the candidate's source already has (see ``frame``)."""

    def share(self, *verdicts: str) -> float:
        """Share of rollouts with one of these verdicts."""
        return sum(self.verdicts.get(verdict, 0.0) for verdict in verdicts)


def gather(candidate: Candidate, archive: Iterable[Candidate], form: Form = BOX) -> Evidence:
    """Statistics of one candidate's traces, with quotes from all of the archive's."""
    traces = candidate.traces
    total = len(traces) or 1
    verdicts: dict[str, float] = {}
    for trace in traces:
        verdicts[trace.verdict] = verdicts.get(trace.verdict, 0.0) + 1 / total
    several = [call.replies for trace in traces for call in trace.calls if len(call.replies) > 1]
    lengths = [tokens(reply) for trace in traces for call in trace.calls for reply in call.replies]
    right = [tokens(r) for t in traces if t.verdict == "correct" for c in t.calls for r in c.replies]
    return Evidence(
        rollouts=len(traces),
        verdicts=verdicts,
        form=form,
        no_form=sum(not form.read(trace.answer) for trace in traces) / total,
        bare_number=sum(_bare(trace, form, r"\d") for trace in traces) / total,
        bare_words=sum(_bare(trace, form, r"\w") for trace in traces) / total,
        cut=sum(_was_cut(trace) for trace in traces) / total,
        tools=sum(bool(trace.tools) for trace in traces) / total,
        disagree=sum(len({form.read(r) for r in group}) > 1 for group in several) / (len(several) or 1),
        tokens=sum(lengths) / (len(lengths) or 1),
        correct_tokens=sorted(right)[int(0.9 * (len(right) - 1))] if right else 0,
        quotes=quotable((trace for item in archive for trace in item.traces), form),
        pieces=frame.read(candidate.source).pieces,
    )


def quotable(traces: Iterable[Trace], form: Form = BOX) -> tuple[Quote, ...]:
    """Replies that led to a verified answer, shortest first, one per question and kind; cut ones never."""
    best: dict[tuple[str, str], Quote] = {}
    for trace in traces:
        if trace.verdict != "correct" or trace.read is None:
            continue
        for call in trace.calls:
            for reply, cut in zip(call.replies, call.cut, strict=True):
                kind = "" if cut else _kind(reply, trace, form)
                key = (trace.question, kind)
                quote = Quote(trace.question, reply, kind)
                if kind and (key not in best or _order(quote) < _order(best[key])):
                    best[key] = quote
    return tuple(sorted(best.values(), key=_order))


def _order(quote: Quote) -> tuple[int, str, str]:
    return (len(quote.reply), quote.question, quote.reply)


def _kind(reply: str, trace: Trace, form: Form) -> str:
    """What a reply of a correct rollout shows; empty when it did not itself lead to the answer."""
    assert trace.read is not None
    answer = form.read(reply)
    if answer is not None:
        if answer != plain(trace.read):
            return ""
        return "form" if tokens(reply) - tokens(answer) <= WORDS_BESIDE_FORM else "steps"
    for _name, arguments, result in trace.tools:
        printed = result.strip().splitlines()
        if not printed or plain(printed[-1]) != plain(trace.read):
            continue
        if "```" in reply:
            return "code"
        if any(part in arguments for part in re.findall(r"\d[\d\s().+*/-]*[+*/-][\d\s().+*/-]*\d", reply)):
            return "expression"
    return ""


def choose(quotes: Sequence[Quote], kinds: Sequence[str], count: int, skip: int = 0) -> tuple[Quote, ...]:
    """``count`` short quotes of these kinds, spread over the forms of question.

    ``skip`` passes over the first. The form of a question is its text without digits. One per question; fewer
    when there are not enough.
    """
    fitting: dict[str, Quote] = {}
    for quote in quotes:
        if quote.kind in kinds:
            fitting.setdefault(quote.question, quote)
    seen: dict[str, int] = {}
    ranked = []
    for index, quote in enumerate(list(fitting.values())[skip:]):
        form = re.sub(r"[\d\s+*/().,=-]+", " ", quote.question)
        seen[form] = seen.get(form, 0) + 1
        ranked.append((seen[form], index, quote))
    return tuple(quote for _, _, quote in sorted(ranked, key=lambda item: item[:2])[:count])


def tokens(reply: str) -> int:
    """Approximate number of tokens: every digit, word and sign counts one."""
    return len(re.findall(r"\d|[^\W\d]+|[^\w\s]", reply))


def _was_cut(trace: Trace) -> bool:
    return any(any(call.cut) for call in trace.calls)


def _bare(trace: Trace, form: Form, sign: str) -> bool:
    answer = trace.answer or ""
    return not form.read(answer) and not _was_cut(trace) and re.search(sign, answer) is not None
