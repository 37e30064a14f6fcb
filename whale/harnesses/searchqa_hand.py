"""Hand-made, to show the room above the starting harness: the question is the query, one line is read, three votes."""

import re

from whale.contract import Chat, Problem, Step, Tool, assistant, user

HINT = "Answer in a few words in <answer> </answer> tags."
EXAMPLES = [
    (
        "Ruritania: highest point: Mount Zenda 2,411 m",
        "What is the highest point of Ruritania?",
        "Mount Zenda",
    ),
    ("Laputa: Exchange rates: talon (LPT) per US dollar", "Which country's currency is the talon?", "Laputa"),
    ("Lilliput: National symbol(s): egg; colours: white", "What is the national symbol of Lilliput?", "egg"),
    (
        "Erewhon: chief of state: President Ana NOSNIBOR",
        "Which country's chief of state is Ana Nosnibor?",
        "Erewhon",
    ),
]
COMMON = {
    "what",
    "which",
    "country",
    "the",
    "of",
    "is",
    "a",
    "an",
    "in",
    "with",
    "for",
    "s",
    "whose",
    "and",
    "that",
}


def words(text: str) -> set[str]:
    """Words that tell texts apart."""
    return set(re.findall(r"[a-z0-9]+", text.lower())) - COMMON


def line_for(passages: str, question: str) -> str:
    """The piece of the passages that shares most words with the question, with its country before it."""
    wanted, best, most = words(question), "", -1.0
    for block in passages.split("\n\n"):
        head, _, body = block.partition("\n")
        country = re.sub(r"^\[\d+\] | - .*$", "", head)
        for line in body.split("\n"):
            label = line.partition(":")[0]
            for piece in line.split("; "):
                shared = words(f"{country} {label} {piece}") & wanted
                score = len(shared) - 0.01 * len(piece.split())
                if score > most:
                    best, most = f"{country}: {piece}", score
    return best


def solve(problem: Problem) -> Step:
    """One search, three short replies, the most frequent answer."""
    passages = yield Tool("search", {"query": problem.question, "k": 5})
    messages = []
    for text, question, answer in EXAMPLES:
        messages += [user(f"{text}\n\n{question}\n{HINT}"), assistant(f"<answer>{answer}</answer>")]
    messages.append(user(f"{line_for(passages, problem.question)}\n\n{problem.question}\n{HINT}"))
    replies = yield Chat(messages, max_tokens=16, samples=3)
    found = [text for reply in replies for text in re.findall(r"<answer>([^<]*)</answer>", reply.text)]
    return f"<answer>{max(found, key=found.count)}</answer>" if found else ""
