"""Starting harness for SearchQA, weak on purpose: the model's one query, one passage, an answer in tags."""

from whale.contract import Chat, Problem, Step, Tool, assistant, user

QUERY = "Write a short search query for the question."
HINT = "Answer in a few words inside <answer> </answer> tags."
EXAMPLE = "What is the tallest mountain of the Moon?"
PASSAGE = "[1] Moon - Geography\nhighest point: Mons Huygens 5,500 m; lowest point: Antoniadi crater"


def solve(problem: Problem) -> Step:
    """One query, one passage, one answer."""
    messages = [user(f"{QUERY}\nQuestion: {EXAMPLE}"), assistant("Moon tallest mountain")]
    messages.append(user(f"{QUERY}\nQuestion: {problem.question}"))
    query = yield Chat(messages)
    passage = yield Tool("search", {"query": query.text, "k": 1})
    messages = [user(f"{PASSAGE}\nQuestion: {EXAMPLE}\n{HINT}"), assistant("<answer>Mons Huygens</answer>")]
    messages.append(user(f"{passage}\nQuestion: {problem.question}\n{HINT}"))
    reply = yield Chat(messages)
    return str(reply.text)
