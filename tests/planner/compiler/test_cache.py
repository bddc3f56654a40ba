"""Answers are kept on disk, bounded, and never half written."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from colab_tpu_magic.planner.compiler.cache import Cache, key_of
from colab_tpu_magic.planner.results import Refused


def refused(text: str = "Does not fit.") -> Refused:
    return Refused("out-of-memory", text, 20, 16)


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "deep" / "plans")
    assert cache.get("a") is None
    cache.put("a", refused())
    assert cache.get("a") == refused() and Cache(cache.folder).get("a") == refused()
    assert [path.name for path in cache.folder.iterdir()] == ["a.json"]


def test_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Cache().folder == tmp_path / "colab-tpu-magic" / "plans"


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"type": "refused", "kind": "time"}', "\x00\xff"])
def test_a_damaged_file_is_as_if_it_were_not_there(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_bytes(text.encode("latin-1"))
    cache = Cache(tmp_path)
    assert cache.get("a") is None
    cache.put("a", refused())
    assert cache.get("a") == refused()


def test_those_not_used_for_longest_make_room(tmp_path: Path) -> None:
    size = len(refused("x" * 100).to_json())
    cache = Cache(tmp_path, max_bytes=3 * size)
    for number, name in enumerate("abc"):
        cache.put(name, refused("x" * 100))
        os.utime(tmp_path / f"{name}.json", (number, number))
    assert cache.get("a")  # used just now: b is the oldest
    cache.put("d", refused("x" * 100))
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["a", "c", "d"]


def test_one_that_is_larger_than_all_is_not_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path, max_bytes=100)
    cache.put("a", refused("x" * 200))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_no_error_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    cache = Cache(tmp_path / "file")
    assert cache.remark == ""
    cache.put("a", refused())
    assert cache.get("a") is None
    assert cache.remark == (
        f"Nothing could be kept in {tmp_path / 'file'} (File exists), so the same plan takes as long again. "
        "XDG_CACHE_HOME may name another folder."
    )


def test_an_error_while_writing_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Cache(tmp_path).put("a", refused())
    assert not list(tmp_path.iterdir())


def test_many_threads_write_and_read_whole_answers(tmp_path: Path) -> None:
    size = len(refused("x" * 2000).to_json())
    cache, wrong = Cache(tmp_path, max_bytes=4 * size), []

    def work(seed: int) -> None:
        for number in range(40):
            key = str((seed + number) % 8)
            cache.put(key, refused("x" * 2000))
            found = cache.get(key)
            if found not in (None, refused("x" * 2000)):
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 4 * size


def test_a_key_tells_apart_all_that_changes_an_answer() -> None:
    asked = [
        ("ab", "v2:2x2", (), "0.0.42.1"),
        ("ac", "v2:2x2", (), "0.0.42.1"),
        ("ab", "v3:2x2", (), "0.0.42.1"),
        ("ab", "v2:2x2", (("num_slices", 1),), "0.0.42.1"),
        ("ab", "v2:2x2", (), "0.0.42.2"),
    ]
    assert len({key_of(*one) for one in asked}) == 5
    assert key_of(*asked[0]) == key_of("ab", "v2:2x2", [], "0.0.42.1")
