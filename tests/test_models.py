"""Where a model comes from: what is missing in a directory is named, with the way to get it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from envs.base import InputError
from envs.cache import cache_dir, made_once
from whale.models import resolve

FILES = {
    "config.json": "{}",
    "tokenizer.json": "{}",
    "tokenizer_config.json": json.dumps({"chat_template": "{{ messages }}"}),
    "model.safetensors": "weights",
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    directory = tmp_path / "my-model"
    directory.mkdir()
    for name, text in FILES.items():
        (directory / name).write_text(text, encoding="utf-8")
    return directory


def refusal(spec: str) -> str:
    with pytest.raises(InputError) as caught:
        resolve(spec)
    return str(caught.value)


def test_a_complete_directory_is_taken_and_identified_by_its_weights(model: Path) -> None:
    first = resolve(str(model))
    assert (first.directory, first.name) == (model, "my-model")
    assert resolve(str(model)) == first
    (model / "model.safetensors").write_text("other weights", encoding="utf-8")
    assert resolve(str(model)).revision != first.revision


def test_a_template_in_its_own_file_is_enough(model: Path) -> None:
    (model / "tokenizer_config.json").unlink()
    (model / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    assert resolve(str(model)).directory == model


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("config.json", "has no config.json; save model and tokenizer with save_pretrained"),
        ("tokenizer.json", "has no tokenizer.json; save model and tokenizer with save_pretrained"),
        ("tokenizer_config.json", "has no chat template; a harness needs one: add chat_template.jinja"),
        ("model.safetensors", "has no *.safetensors weights; save it with save_pretrained"),
    ],
)
def test_what_a_directory_lacks_is_named(model: Path, missing: str, message: str) -> None:
    (model / missing).unlink()
    found = refusal(str(model))
    assert message in found
    assert str(model) in found


def test_a_tokenizer_without_a_template_is_named(model: Path) -> None:
    (model / "tokenizer_config.json").write_text('{"chat_template": null}', encoding="utf-8")
    assert "has no chat template" in refusal(str(model))


def test_a_tokenizer_config_that_is_not_json_is_named(model: Path) -> None:
    (model / "tokenizer_config.json").write_text("{", encoding="utf-8")
    assert f"{model / 'tokenizer_config.json'} is not valid JSON" in refusal(str(model))


def test_a_place_that_does_not_exist(tmp_path: Path) -> None:
    message = refusal(str(tmp_path / "typo"))
    assert f"no model directory at '{tmp_path / 'typo'}'" in message
    assert "package:smollm2, tiny or hub:OWNER/NAME" in message


def test_a_file_is_not_a_model_directory(model: Path) -> None:
    assert "no model directory at" in refusal(str(model / "config.json"))


@pytest.mark.parametrize("spec", ["package:smollm", "package:", "package:llama"])
def test_an_unknown_package_lists_the_known_sources(spec: str) -> None:
    assert (
        refusal(spec)
        == f"unknown model {spec!r}; known: package:smollm2, tiny, hub:OWNER/NAME, or a local directory"
    )


@pytest.mark.parametrize(
    ("own", "xdg", "place"),
    [("/a/b", "/x", "/a/b"), ("", "/x", "/x/whale-bench"), ("", "", "/home/me/.cache/whale-bench")],
)
def test_where_the_cache_lies(own: str, xdg: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHALE_CACHE", own)
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_dir() == Path(place)


MAKER = """
import sys, time
from pathlib import Path
from envs.cache import made_once

def make(folder):
    with Path(sys.argv[2]).open("a") as calls:
        calls.write("made ")
    (folder / "half").touch()
    time.sleep(0.3)
    (folder / "whole").touch()

print(sorted(path.name for path in made_once(Path(sys.argv[1]), make).iterdir()))
"""


def test_what_is_slow_to_make_is_made_by_one_of_the_processes_that_want_it(tmp_path: Path) -> None:
    order = [sys.executable, "-c", MAKER, str(tmp_path / "cache" / "model"), str(tmp_path / "calls")]
    processes = [subprocess.Popen(order, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert {process.communicate()[0].strip() for process in processes} == {"['complete', 'half', 'whole']"}
    assert (tmp_path / "calls").read_text("utf-8") == "made "


def test_what_was_half_made_is_made_again(tmp_path: Path) -> None:
    target = tmp_path / "model"

    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made_once(target, fail)
    assert not target.exists()
    made_once(target, lambda folder: (folder / "whole").touch())
    assert sorted(path.name for path in target.iterdir()) == ["complete", "whole"]
