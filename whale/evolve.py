"""The fast half of Fast-Slow Training: GEPA evolves the instruction of a harness on the tasks of coming weight steps.

Source: Fast-Slow Training (arXiv 2605.12484) and GEPA (arXiv 2507.19457), through the ``gepa`` library, in a fresh run
directory each cycle and with its evaluation cache off, so that every metric call is a rollout and is charged. The
library starts from one prompt: the others that are carried over enter as its first proposals and are always accepted.
Its budget is a soft cap; what goes beyond it is reported and charged too.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

from gepa.api import optimize
from gepa.core.result import GEPAResult
from gepa.gepa_utils import remove_dominated_programs

from envs.base import InputError, Task
from whale.agent import State
from whale.budget import FstSettings
from whale.control import Control
from whale.gepa_adapter import COMPONENT, Adapter, Carried, Reflection
from whale.lab import Lab, fields, hash_free
from whale.offline.form import Form
from whale.offline.text_edits import instruction_of
from whale.phases import Evolve
from whale.records import Harness, Spend
from whale.reflector import Reflector
from whale.search import Scored
from whale.store import write_json


@dataclass(frozen=True, slots=True)
class Evolved:
    """Result of an evolution."""

    state: State
    spend: Spend
    proposing: Spend
    """What the reflection model took: no rollouts, tokens and dollars only."""
    candidates: tuple[Scored, ...]
    overshoot: int
    """Rollouts beyond the cap."""


class PromptEvolution:
    """Phase ``Evolve``."""

    def __init__(
        self, lab: Lab, form: Form, reflector: Reflector, settings: FstSettings, control: Control
    ) -> None:
        self.lab, self.form, self.reflector = lab, form, reflector
        self.settings, self.control = settings, control

    def run(self, state: State, phase: Evolve, seed: int) -> Evolved:
        """Evolve the state's prompts; raises ``InputError`` when its harness has no instruction to evolve."""
        key = self.lab.key(
            "evolve",
            weights=state.weights_id,
            prompts=[prompt.id for prompt in state.harnesses],
            number=state.searches,
            first=state.steps,
            phase=asdict(phase),
            settings=self.settings.model_dump(exclude={"chat_key"}),
            reflector=self.reflector.name,
            library=version("gepa"),
            seed=seed,
        )
        target = self.lab.root / "evolutions" / key
        if not (target / "done.json").is_file():
            self._evolve(state, phase, seed, target)
        done = json.loads((target / "done.json").read_text(encoding="utf-8"))
        prompts = tuple(Harness(**prompt) for prompt in done["prompts"])
        after = replace(state, harness=prompts[0], prompts=prompts, searches=state.searches + 1, archive=None)
        rows = tuple(Scored(**row) for row in done["candidates"])
        return Evolved(after, Spend(**done["spend"]), Spend(**done["proposing"]), rows, done["overshoot"])

    def anchors(self, state: State, phase: Evolve, seed: int) -> list[Task]:
        """The tasks of the weight steps that come next, each once."""
        steps = range(state.steps, state.steps + phase.steps)
        tasks = {task.id: task for step in steps for task in self.lab.batch(step, seed)}
        return list(tasks.values())

    def _named(
        self, found: GEPAResult[float, int], adapter: Adapter, state: State, carried: Carried
    ) -> list[Harness]:
        """The library's candidates as harnesses; a carried prompt stays what it was, a new one has its parent."""
        known = {harness.id: harness for harness in state.harnesses}
        named: list[Harness] = []
        for candidate, parents in zip(found.candidates, found.parents, strict=True):
            harness = adapter.harness(candidate[COMPONENT])
            parent = parents[0]
            if harness.id not in known and parent is not None:
                edit = carried.name_of(candidate)
                known[harness.id] = replace(harness, parent=named[parent].id, edit=edit)
            named.append(known.get(harness.id, harness))
        return named

    def _evolve(self, state: State, phase: Evolve, seed: int, target: Path) -> None:
        """The library runs from the start; recorded rollouts and rewrites make that cost nothing twice."""
        texts = [instruction_of(prompt.source, self.form) for prompt in state.harnesses]
        if texts[0] is None:
            raise InputError(
                f"harness {state.harness.id} has no instruction that names the {self.form.noun}, so there is no "
                "prompt to evolve; start from a harness with one, or leave fst out"
            )
        carried = Carried([text for text in texts[1:] if text is not None])
        adapter = Adapter(self.lab, self.form, self.control, state, seed)
        reflection = Reflection(
            self.reflector, carried, target / "rewrites.jsonl", hash_free(seed, target.name)
        )
        shutil.rmtree(target / "gepa", ignore_errors=True)
        found: GEPAResult[float, int] = optimize(
            seed_candidate={COMPONENT: texts[0]},
            trainset=self.anchors(state, phase, seed),
            adapter=adapter,
            reflection_strategy=reflection,
            reflection_minibatch_size=self.settings.minibatch,
            skip_perfect_score=False,  # a carried prompt must enter even where the first one fails nowhere
            acceptance_criterion=carried,
            max_metric_calls=phase.calls,
            stop_callbacks=[reflection.check],
            cache_evaluation=False,
            run_dir=str(target / "gepa"),
            logger=adapter,
            seed=hash_free(seed, state.weights_id, state.searches) % 2**32,
        )
        if found.total_metric_calls != adapter.spend.rollouts:
            raise RuntimeError(
                f"gepa counted {found.total_metric_calls} metric calls but {adapter.spend.rollouts} rollouts were run: "
                "another version than the pinned one (constraints.txt), or a carried prompt that the controls refuse"
            )
        kept = _keep(found, self.settings.prompts, self.lab.weight.samples)
        named = self._named(found, adapter, state, carried)
        rows = [
            Scored(index, item.id, item.parent, item.edit, score, None, index in kept, "")
            for index, (item, score) in enumerate(zip(named, found.val_aggregate_scores, strict=True))
        ]
        body = {
            "prompts": [fields(named[index]) for index in kept],
            "spend": fields(adapter.spend),
            "proposing": fields(reflection.spend),
            "candidates": [asdict(row) for row in rows],
            "overshoot": max(0, adapter.spend.rollouts - phase.calls),
        }
        write_json(target / "done.json", body)


def _keep(found: GEPAResult[float, int], most: int, samples: int) -> list[int]:
    """At most K candidates of the frontier of single anchors, so many that ``samples`` are split evenly over them.

    First what the library itself calls not dominated, then what ties with it; best mean first, the earlier of equals,
    one for each text.
    """
    means = found.val_aggregate_scores
    texts = [candidate[COMPONENT] for candidate in found.candidates]
    fronts = found.per_val_instance_best_candidates
    pruned: dict[int, set[int]] = remove_dominated_programs(fronts, means)  # type: ignore[no-untyped-call]
    best = set[int]().union(*pruned.values())
    frontier = sorted(set[int]().union(*fronts.values()), key=lambda one: (one not in best, -means[one], one))
    first: dict[str, int] = {}
    for index in frontier:
        first.setdefault(texts[index], index)
    size = max(count for count in range(1, min(most, len(first)) + 1) if samples % count == 0)
    return sorted(list(first.values())[:size], key=lambda one: (-means[one], one))
