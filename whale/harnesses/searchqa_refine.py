"""The starting harness for SearchQA with a second look: the model is shown its answer and asked to check it."""

import re

from whale.contract import Chat, Problem, Step, Tool, assistant, user

QUERY = "Write a search query: "
HINT = "Answer in a few words in <answer> </answer> tags."
CHECK = "Check that against the passage. Give the right answer in <answer> </answer> tags."
EXAMPLES = [
    (
        "What is the highest point of Ruritania?",
        "highest point of Ruritania",
        "[1] Ruritania - Geography\nElevation: highest point: Mount Zenda 2,411 m; lowest point: Lake Strelsau 95 m",
        "Mount Zenda",
    ),
    (
        "Which country's currency is the talon?",
        "country with the currency talon",
        "[1] Laputa - Economy\nExchange rates: talon (LPT) per US dollar 4.1 (2021)",
        "Laputa",
    ),
    (
        "What is the official language of Lilliput?",
        "official language of Lilliput",
        "[1] Lilliput - People and Society\nLanguages: Lilliputian (official) 81%, Blefuscudian 12%, other 7%",
        "Lilliputian",
    ),
]


def solve(problem: Problem) -> Step:
    """One query, one passage, one answer, one check; the first answer stands when the check gives none."""
    messages = []
    for question, query, _, _ in EXAMPLES:
        messages += [user(QUERY + question), assistant(query)]
    messages.append(user(QUERY + problem.question))
    query = yield Chat(messages, max_tokens=12)
    passage = yield Tool("search", {"query": query.text, "k": 1})
    messages = []
    for question, _, text, answer in EXAMPLES:
        messages += [user(f"{text}\n\n{question}\n{HINT}"), assistant(f"<answer>{answer}</answer>")]
    messages.append(user(f"{passage}\n\n{problem.question}\n{HINT}"))
    first = yield Chat(messages, max_tokens=16)
    second = yield Chat([*messages, assistant(first.text), user(CHECK)], max_tokens=16)
    return str(second.text if re.search(r"<answer>.*?</answer>", second.text) else first.text)
