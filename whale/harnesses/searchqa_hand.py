"""Hand-made, to show the room above the starting harness: the question is the query, three passages are read."""

from whale.contract import Chat, Problem, Step, Tool, assistant, user

HINT = "Answer in a few words in <answer> </answer> tags."
EXAMPLES = [
    (
        "What is the highest point of Ruritania?",
        "[1] Ruritania - Geography\nElevation: highest point: Mount Zenda 2,411 m; lowest point: Lake Strelsau 95 m",
        "Mount Zenda",
    ),
    (
        "Which country's currency is the talon?",
        "[1] Laputa - Economy\nExchange rates: talon (LPT) per US dollar 4.1 (2021)",
        "Laputa",
    ),
    (
        "What is the official language of Lilliput?",
        "[1] Lilliput - People and Society\nLanguages: Lilliputian (official) 81%, Blefuscudian 12%, other 7%",
        "Lilliputian",
    ),
]


def solve(problem: Problem) -> Step:
    """One search, one answer, the question before and after the passages."""
    passages = yield Tool("search", {"query": problem.question, "k": 3})
    messages = []
    for question, text, answer in EXAMPLES:
        messages += [user(f"{text}\n\n{question}\n{HINT}"), assistant(f"<answer>{answer}</answer>")]
    messages.append(user(f"{passages}\n\n{problem.question}\n{HINT}"))
    reply = yield Chat(messages, max_tokens=16)
    return str(reply.text)
