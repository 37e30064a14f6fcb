"""The pieces of harness code that edits put around a draft, as text a person can read in the result.

A piece is a top-level function (with its constants). Where it is called from is decided in ``frame``.
Nothing here computes an answer: numbers come from replies, or from a tool that runs a reply's code.
"""

from __future__ import annotations

SHARED = {
    "place": r'''
def place(messages, problem):
    """Index of the first user message that shows the question; None when there is none."""
    for at, message in enumerate(messages):
        if message.role == "user" and problem.question in message.content:
            return at
    return None
''',
    "run_python": r'''
def run_python(code, reply):
    """Run code that the model wrote; the reply becomes its printed number, or stays when there is none."""
    printed = (yield Tool("python", {"code": code})).strip().splitlines()
    if printed and re.fullmatch(r"-?\d+(\.\d+)?", printed[-1].strip()):
        return Reply("\\boxed{" + printed[-1].strip() + "}", reply.cut)
    return reply
''',
    "chosen": r'''
def chosen(replies):
    """The first reply with the most common answer; replies without an answer do not vote."""
    answers = [answer_in(reply.text) for reply in replies]
    votes = [answers.count(answer) if answer else 0 for answer in answers]
    return replies[votes.index(max(votes))]
''',
}
"""Functions that pieces call; each is present exactly when something below calls it."""

RESTATED = r'''
def restated(text, question):
    """Drop the words around a bare expression; otherwise put what follows the colon on its own line."""
    head, colon, tail = question.strip().rpartition(":")
    tail = re.sub(r"\.\s+[^.]*\b(answer|result)\b[^.]*\.?$", "", tail).strip()
    if not colon or not any(letter.isdigit() for letter in tail):
        return text
    bare = re.fullmatch(r"[\d\s+*/().=-]*[+*/=-][\d\s+*/().=-]*", tail)
    return text.replace(question, tail if bare else head + ":\n" + tail)
'''

FORM_EXAMPLE = r'''
def explained(text):
    """Show what an answer looks like."""
    return text + "\n" + <<example>>
'''

DIRECT = r'''
def styled(text, problem):
    """Ask for the answer and nothing else."""
    return text + "\n" + <<only>>
'''

STEPS_SIGN = "Ask for short steps"
"""What tells the piece that asks for steps from the others of its slot."""

STEPS = r'''
def styled(text, problem):
    """Ask for short steps before the answer."""
    return text + "\n" + <<steps>>
'''

PYTHON = r'''
def styled(text, problem):
    """Ask for one line of Python instead of an answer, where it can be run."""
    if "python" not in problem.tools:
        return text
    example = "```python\nprint(5 + 7)\n```"
    return text + "\nDo not solve it. Write one line of Python that prints it, like\n" + example
'''

RUN_BLOCK = r'''
def computed(reply, problem):
    """Run the reply's code block, and put what it prints in the box."""
    block = re.search(r"```(?:python)?\s*\n(.*?)(?:```|$)", reply.text, re.DOTALL)
    code = block.group(1).strip().rstrip("= ") if block else ""
    if not code or "python" not in problem.tools:
        return reply
    if "print(" not in code:
        code += "\nprint(" + code.splitlines()[-1].split("=")[0].strip() + ")"
    return (yield from run_python(code, reply))
'''

EXPRESSION = r'''
def styled(text, problem):
    """Ask for the calculation on one line, where it can be run."""
    if "python" not in problem.tools:
        return text
    return text + "\nDo not solve it. Write only the calculation on one line, like 5 + 7"
'''

RUN_EXPRESSION = r'''
def computed(reply, problem):
    """Run the last calculation that the reply writes down, and put its value in the box."""
    found = re.findall(r"[\d(-][\d\s().+*/-]*[+*/-][\d\s().+*/-]*[\d)]", reply.text)
    if not found or "python" not in problem.tools:
        return reply
    return (yield from run_python("print(" + " ".join(found[-1].split()) + ")", reply))
'''

EXAMPLES = r'''
def with_examples(asked, problem):
    """Questions with replies of this model that were verified, in the form in which `asked` is asked."""
    turns = []
    for question, reply in EXAMPLES:
        if question.split() != problem.question.split():
            turns.append(user(worded(asked.replace(problem.question, question), question, problem)))
            turns.append(assistant(reply))
    return turns
'''

ROLE = r'''
def with_role(messages):
    """Say who is answering, in the system message."""
    role = <<role>>
    if messages[0].role == "system":
        return [system(role + "\n" + messages[0].content), *messages[1:]]
    return [system(role), *messages]
'''

PLANNED = r'''
def planned(request, problem):
    """A first call writes the calculation down; the request then goes on from there."""
    ask_plan = problem.question + "\nWrite only the calculation, on one line. Do not solve it yet."
    plan = yield Chat([user(ask_plan)], max_tokens=PLAN_TOKENS)
    turns = [assistant(plan.text), user("Now solve it. Put the final answer in \\boxed{}.")]
    return Chat([*request.messages, *turns], request.samples, request.max_tokens)
'''

VOTE = r'''
def sampled(request):
    """Several replies to the same request; the most common answer wins."""
    return (yield Chat(request.messages, SAMPLES, request.max_tokens or MAX_TOKENS))
'''

AGREE = r'''
def sampled(request):
    """Two replies, and a third when their answers differ."""
    limit = request.max_tokens or MAX_TOKENS
    replies = yield Chat(request.messages, 2, limit)
    if answer_in(replies[0].text) == answer_in(replies[1].text):
        return replies
    return [*replies, (yield Chat(request.messages, 1, limit))]
'''

LAST_NUMBER = r'''
def finished(answer):
    """An answer without a box gets one around the last number that the model wrote."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", (answer or "").replace(",", ""))
    if answer_in(answer) or not numbers:
        return answer
    return answer + "\n\\boxed{" + numbers[-1] + "}"
'''

RETRY = r'''
def retried(answer, problem):
    """One more turn when the answer is missing, saying so."""
    if answer_in(answer):
        return answer
    missing = user(<<missing>>)
    turns = [user(problem.question + "\n" + <<hint>>)]
    if answer:
        turns.append(assistant(answer))
    reply = yield from ask(Chat([*turns, missing]), problem)
    return reply.text
'''
