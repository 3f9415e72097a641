"""A book with the tone engine: made, killed, edited, judged, said again, and never said twice without need."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from langdu.audio.av_encode import Tags
from langdu.audio.loudness import profile as profile_of
from langdu.audio.read import read
from langdu.engines.tone import describe, tone
from langdu.errors import EngineError, OutputError, SettingError, VoiceError
from langdu.quality.signal import measure
from langdu.quality.verdict import Finding, Verdict
from langdu.settings import settings
from langdu.synthesis import project
from langdu.synthesis.book import Book, BookRequest, Summary
from langdu.synthesis.casting import Cast
from langdu.synthesis.model import Chunk, Take
from langdu.synthesis.runner import EngineSpec
from langdu.synthesis.takes import TakeStore
from langdu.synthesis.volumes import Spoken, Volumes
from langdu.text.model import Document, Paragraph, Section
from langdu.text.script import ScriptOptions
from langdu.voices.library import Library
from langdu.voices.persona import BuiltinPersona

SENTENCES = [
    f"这是第{n}个段落，它说的是{part}上的事。" for n, part in zip("一二三四五六七八九十", "早午晚夜" * 3, strict=False)
]


def document(sentences: list[str] = SENTENCES, chapters: int = 2) -> Document:
    size = -(-len(sentences) // chapters)
    parts = [sentences[at : at + size] for at in range(0, len(sentences), size)]
    sections = tuple(Section(f"第{n}章", tuple(Paragraph(s) for s in part)) for n, part in enumerate(parts, 1))
    return Document("书名", "作者", "zh", sections)


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LANGDU_DATA_DIR", str(tmp_path / "data"))
    settings.cache_clear()
    yield tmp_path / "data"


def request(output: Path, source: Document | None = None, **more: Any) -> BookRequest:
    options = {"speech_s": 0.02, **more.pop("engine_options", {})}
    return BookRequest(
        source or document(), output, "b.md", "tone", check=False, workers=2, force=True, engine_options=options, **more
    )


def make(output: Path, source: Document | None = None, judge: Any = None, **more: Any) -> tuple[Summary, list[Any]]:
    events: list[Any] = []
    summary = Book(request(output, source, **more)).make(events.append, judge=judge)
    return summary, events


def test_everything_a_book_needs_is_written(tmp_path: Path) -> None:
    summary, events = make(tmp_path / "a.m4b")
    assert (summary.chunks, summary.said, summary.reused) == (12, 12, 0)
    assert summary.faults == []
    names = {path.name for path in tmp_path.iterdir()} - {"data"}
    assert names == {"a.m4b", "a.m4b.langdu.json", "a.report.html", "a.report.json", "a.srt", "a.vtt"}
    audio, rate = read(tmp_path / "a.m4b")
    assert len(audio) / rate == pytest.approx(summary.audio_seconds, abs=0.1)
    last = events[-1]
    assert last["event"] == "summary"
    assert {"chunks", "said", "reused", "faults", "seconds", "audio_seconds", "rtf", "output"} <= set(last)
    assert [e["chunk"] for e in events if e["event"] == "chunk"][:2] == ["1.1", "1.2"]


def test_the_same_book_again_says_nothing(tmp_path: Path) -> None:
    make(tmp_path / "a.flac")
    before = (tmp_path / "a.flac").read_bytes()
    summary, _ = make(tmp_path / "a.flac")
    assert (summary.said, summary.reused, summary.workers) == (0, 12, 0)
    assert (tmp_path / "a.flac").read_bytes() == before


def test_after_editing_one_sentence_one_chunk_is_said(tmp_path: Path) -> None:
    make(tmp_path / "a.wav")
    edited = [*SENTENCES]
    edited[2] = "这一句改过了。"
    summary, _ = make(tmp_path / "a.wav", document(edited))
    assert (summary.said, summary.reused) == (1, 11)


def test_another_project_shares_the_takes(tmp_path: Path) -> None:
    make(tmp_path / "a.wav")
    summary, _ = make(tmp_path / "b.wav", loudness="broadcast")
    assert summary.said == 0


def test_another_speed_says_everything_again(tmp_path: Path) -> None:
    make(tmp_path / "a.wav")
    summary, _ = make(tmp_path / "a.wav", speed=1.5)
    assert summary.said == 12


SCRIPT = textwrap.dedent("""
    import sys
    from pathlib import Path
    sys.path.insert(0, sys.argv[2])
    from test_book import request, document
    from langdu.synthesis.book import Book
    if __name__ == "__main__":
        def tell(event):
            if event["event"] in ("take", "summary"):
                print(event["event"], event.get("said", ""), event.get("reused", ""), flush=True)
        Book(request(Path(sys.argv[1]), engine_options={"delay_s": 0.01})).make(tell)
""")


def test_killed_in_the_middle_every_finished_take_is_reused_and_no_worker_is_left(tmp_path: Path) -> None:
    output = tmp_path / "a.wav"
    arguments = [sys.executable, "-c", SCRIPT, str(output), str(Path(__file__).parent)]
    run = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    for _ in range(4):
        assert run.stdout.readline().startswith("take")
    children = psutil.Process(run.pid).children(recursive=True)
    assert children
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    run.stdout.close()
    _, alive = psutil.wait_procs(children, timeout=5)
    assert alive == []
    assert not output.exists()
    with TakeStore(settings().takes_dir) as store:
        finished, _ = store.size()
    assert 4 <= finished < 12
    second = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=120)
    assert second.stdout.split()[-2:] == [str(12 - finished), str(finished)]
    assert output.exists()


def verdict(outcome: Any, take: Take) -> Verdict:
    found = (Finding("wrong words", 0.9, 0.25, "transcript", "fault", "…"),) if outcome == "fault" else ()
    return Verdict(outcome, found, measure(take.audio, take.sample_rate_hz), attempt=take.attempt)


class Judge:
    """Refuses the chunks whose text holds `bad`, for the first `times` sayings."""

    name = "test/1"

    def __init__(self, bad: str, times: int) -> None:
        self.bad, self.times = bad, times
        self.heard: list[tuple[str, int]] = []

    def __call__(self, chunk: Chunk, take: Take) -> tuple[Verdict, tuple[()]]:
        self.heard.append((chunk.name, take.attempt))
        bad = self.bad in chunk.text and take.attempt <= self.times
        return verdict("fault" if bad else "pass", take), ()


def test_a_fault_is_said_again_with_another_seed_and_the_good_take_is_used(tmp_path: Path) -> None:
    judge = Judge("第三", times=1)
    summary, events = make(tmp_path / "a.wav", judge=judge)
    assert (summary.said, summary.retries, summary.faults) == (13, 1, [])
    assert sorted(attempt for name, attempt in judge.heard if name == "1.4") == [1, 2]
    used = next(event for event in events if event["event"] == "take" and event["chunk"] == "1.4")
    assert used["attempt"] == 2


def test_what_stays_faulty_is_reported_after_the_retries_and_not_said_a_fourth_time(tmp_path: Path) -> None:
    judge = Judge("第三", times=9)
    summary, _ = make(tmp_path / "a.wav", judge=judge, retries=2)
    assert [fault["chunk"] for fault in summary.faults] == ["1.4"]
    assert summary.said == 14
    again, _ = make(tmp_path / "a.wav", judge=judge, retries=2)
    assert again.said == 0
    report = json.loads((tmp_path / "a.report.json").read_text())
    assert [c["chunk"] for c in report["chunks"] if c["outcome"] == "fault"] == ["1.4"]
    page = (tmp_path / "a.report.html").read_text()
    assert "wrong words" in page
    assert "data:audio/ogg;base64," in page
    assert 'src="http' not in page


def test_takes_made_unchecked_are_judged_later_and_not_said_again(tmp_path: Path) -> None:
    make(tmp_path / "a.wav")
    judge = Judge("第三", times=1)
    summary, _ = make(tmp_path / "a.wav", judge=judge)
    assert len(judge.heard) == 13
    assert (summary.said, summary.faults) == (1, [])


def test_killed_between_a_fault_and_its_retry_the_chunk_is_said_again(tmp_path: Path) -> None:
    first = Judge("第三", times=1)
    make(tmp_path / "a.wav", judge=first, retries=0)  # as if the run had ended right after the fault
    summary, _ = make(tmp_path / "a.wav", judge=Judge("第三", times=1), retries=2)
    assert (summary.said, summary.faults) == (1, [])


def test_takes_judged_by_other_rules_are_heard_again(tmp_path: Path) -> None:
    make(tmp_path / "a.wav", judge=Judge("", times=0))
    stricter = Judge("第三", times=1)
    stricter.name = "test/2"
    summary, _ = make(tmp_path / "a.wav", judge=stricter)
    assert len(stricter.heard) == 13
    assert (summary.said, summary.faults) == (1, [])


def test_a_take_cut_at_the_budget_is_a_fault_though_nobody_listens(tmp_path: Path) -> None:
    summary, _ = make(tmp_path / "a.wav", engine_options={"budget_on": SENTENCES[1]})
    assert [fault["faults"] for fault in summary.faults] == [["budget"]]
    assert (summary.said, summary.retries) == (14, 2)


def test_an_accepted_take_is_no_fault(tmp_path: Path) -> None:
    judge = Judge("第三", times=9)
    make(tmp_path / "a.wav", judge=judge, retries=0)
    with TakeStore(settings().takes_dir) as store:
        kept = store.choice(project.load(tmp_path / "a.wav").find("1.4").key)
        assert kept is not None
        store.accept(kept.id)
    summary, _ = make(tmp_path / "a.wav", judge=judge, retries=0)
    assert summary.faults == []


def test_a_rejected_take_is_said_anew(tmp_path: Path) -> None:
    make(tmp_path / "a.wav")
    with TakeStore(settings().takes_dir) as store:
        kept = store.choice(project.load(tmp_path / "a.wav").find("2.3").key)
        assert kept is not None
        store.reject(kept.id)
    summary, _ = make(tmp_path / "a.wav")
    assert (summary.said, summary.reused) == (1, 11)


def test_a_take_whose_file_is_lost_is_said_anew(tmp_path: Path) -> None:
    make(tmp_path / "a.wav")
    next(settings().takes_dir.glob("sound/*/*.flac")).unlink()
    summary, _ = make(tmp_path / "a.wav")
    assert summary.said == 1


def test_a_chunk_that_cannot_be_said_leaves_no_file_but_the_takes_of_the_others(tmp_path: Path) -> None:
    options = {"fail_on": SENTENCES[1]}
    with pytest.raises(EngineError, match=r"Chunk 1\.3 .*cannot say"):
        make(tmp_path / "a.wav", engine_options=options)
    assert not (tmp_path / "a.wav").exists()
    summary, _ = make(tmp_path / "a.wav")
    assert (summary.said, summary.reused) == (1, 11)


def test_the_sound_is_that_of_the_chunks_in_order(tmp_path: Path) -> None:
    make(tmp_path / "a.wav", loudness="none")
    audio, rate = read(tmp_path / "a.wav")
    report = json.loads((tmp_path / "a.report.json").read_text())
    for chunk in report["chunks"]:
        middle = (chunk["start_s"] + chunk["end_s"]) / 2
        part = audio[int((middle - 0.04) * rate) : int((middle + 0.04) * rate)]
        crossings = np.count_nonzero(np.diff(np.signbit(part)))
        said = tone(chunk["text"], chunk["seed"], 0.02)
        wanted = np.count_nonzero(np.diff(np.signbit(said[len(said) // 2 - 960 : len(said) // 2 + 960])))
        assert abs(crossings - wanted) <= 2


def test_chapters_are_chosen_by_number_and_keep_their_names(tmp_path: Path) -> None:
    summary, events = make(tmp_path / "a.wav", first_chapter=2)
    assert summary.chunks == 6
    assert next(event["chunk"] for event in events if event["event"] == "chunk") == "2.1"
    with pytest.raises(SettingError, match="it has 2"):
        make(tmp_path / "b.wav", first_chapter=3)


def test_one_file_for_each_chapter(tmp_path: Path) -> None:
    summary, _ = make(tmp_path / "a.mp3", split=True)
    assert [Path(path).name for path in summary.outputs] == ["a - 01 第1章.mp3", "a - 02 第2章.mp3"]
    assert all(Path(path).with_suffix(".srt").exists() for path in summary.outputs)
    assert not (tmp_path / "a.mp3").exists()


def test_of_several_files_only_those_that_miss_the_profile_are_written_again(tmp_path: Path) -> None:
    profile = replace(profile_of("podcast"), split=True)
    volumes = Volumes(
        tmp_path / "a.wav", ["一", "二"], profile, tags=Tags(), split=True, subtitles=False
    )  # fmt: skip
    with TakeStore(tmp_path / "takes") as store:
        spoken = []
        for chapter in range(2):
            audio = tone(f"{chapter}", 0, 3.0)
            chunk = Chunk(chapter, chapter, 1, "一", "zh", BuiltinPersona(name="t", voice="tone"), 0.1, f"{chapter}")
            kept = store.add(Take(chunk.key, audio, 24_000, 0, 1.0, "ended", 0, describe(EngineSpec("tone"))))
            spoken.append(Spoken(chunk, kept, audio))
        volumes.write(iter(spoken), 24_000)
        first, second = volumes.measured()
        before = [volume.path.read_bytes() for volume in (first, second)]
        quieter = replace(second, levels=replace(second.levels, lufs=-16.0), problems=("too loud",))
        assert volumes.again(lambda line: spoken[line.chunk.chapter], 24_000, [first, quieter])
        assert first.path.read_bytes() == before[0]
        assert volumes.measured()[1].levels.lufs == pytest.approx(second.levels.lufs - 3, abs=0.1)
        assert [line.chunk.name for line in volumes.lines] == ["1.1", "2.1"]


def test_a_file_of_a_chapter_with_a_long_title_has_a_name_that_fits(tmp_path: Path) -> None:
    source = replace(document(), sections=tuple(replace(s, title="很长的标题" * 20) for s in document().sections))
    summary, _ = make(tmp_path / f"{'很长的书名' * 11}.mp3", source, split=True, subtitles=False)
    assert all(len(Path(path).name.encode()) <= 240 for path in summary.outputs)
    assert len(summary.outputs) == 2


def test_nothing_of_the_users_is_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(b"mine")
    with pytest.raises(OutputError, match="not of a book made here"):
        Book(request(tmp_path / "a.wav"))
    assert (tmp_path / "a.wav").read_bytes() == b"mine"
    make(tmp_path / "a.wav", overwrite=True)
    make(tmp_path / "a.wav")


@pytest.mark.parametrize("name", ["a.srt", "a.report.html", "a - 02 第2章.wav"])
def test_nor_is_what_lies_beside_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(OutputError, match=f"{name} exists"):
        make(tmp_path / "a.wav", split=" - " in name)
    assert (tmp_path / name).read_bytes() == b"mine"


def test_two_runs_do_not_make_one_output_and_what_a_killed_one_left_is_cleared(tmp_path: Path) -> None:
    part = tmp_path / ".a.wav.x1.part"
    part.write_bytes(b"")
    book = Book(request(tmp_path / "a.wav"))
    with project.locked(tmp_path / "a.wav", []), pytest.raises(OutputError, match="Another langdu book"):
        book.make()
    assert part.exists()
    book.make()
    assert not part.exists()


def test_an_unknown_role_is_an_error_before_anything_is_made(tmp_path: Path) -> None:
    source = document(["[voice:无此人]你好。"], 1)
    with pytest.raises(VoiceError, match="无此人"):
        Book(request(tmp_path / "a.wav", source))


def test_in_a_dialogue_each_persona_speaks_by_its_own_lexicon(tmp_path: Path) -> None:
    library = Library()
    library.add(BuiltinPersona(name="爷爷", voice="tone", lexicon={"行长": "银行的头"}))
    library.add(BuiltinPersona(name="旁白", voice="tone", lexicon={"早": "清早"}))
    source = document(["老人：我找行长。", "行长还早着呢。", "他说：行长走了。"], 1)
    options = ScriptOptions(dialogue=True)
    book = Book(replace(request(tmp_path / "a.wav", source, roles={"老人": "爷爷"}, options=options), voice="旁白"))
    said = [(chunk.persona.name, chunk.text) for chunk in book.chunks][1:]
    assert said == [("爷爷", "我找银行的头。"), ("旁白", "行长还清早着呢。"), ("旁白", "他说：行长走了。")]
    [warning] = book.script.warnings
    assert warning.message.startswith("no one is called 他说; it is read as text")


def test_a_cast_file_that_is_wrong_says_what(tmp_path: Path) -> None:
    path = tmp_path / "cast.toml"
    for text, message in (
        ("[cast]\na = 1", '"a" has no persona'),
        ("[roles]\na = 'b'", "one table"),
        ("[", "cannot be read"),
    ):
        path.write_text(text)
        with pytest.raises(SettingError, match=message):
            Cast.read(path)


def test_roles_of_a_cast_may_be_quoted_or_not(tmp_path: Path) -> None:
    path = tmp_path / "cast.toml"
    path.write_text('[cast]\n老人 = "a=b" # 甲 = 乙\n  "孩 子" = "c"\nBob="老人"\n', "utf-8")
    assert Cast.read(path).roles == {"老人": "a=b", "孩 子": "c", "Bob": "老人"}


def test_a_persona_whose_content_changes_is_said_anew(tmp_path: Path) -> None:
    library = Library()
    library.add(BuiltinPersona(name="旁白", voice="tone"))
    base = request(tmp_path / "a.wav")
    Book(replace(base, voice="旁白")).make()
    again = Book(replace(base, voice="旁白")).make()
    library.update(BuiltinPersona(name="旁白", voice="tone", settings={"speed": 1.2}))
    changed = Book(replace(base, voice="旁白")).make()
    assert (again.said, changed.said) == (0, 12)


def test_stopping_in_the_middle_leaves_no_worker(tmp_path: Path) -> None:
    book = Book(request(tmp_path / "a.wav", engine_options={"delay_s": 0.05}))

    def stop(event: dict[str, Any]) -> None:
        if event["event"] == "take":
            raise KeyboardInterrupt

    started = time.monotonic()
    others = psutil.Process().children(recursive=True)  # a service that other tests share has workers too
    with pytest.raises(KeyboardInterrupt):
        book.make(stop)
    assert time.monotonic() - started < 20
    assert [child for child in psutil.Process().children(recursive=True) if child not in others] == []


def test_a_file_that_cannot_be_written_ends_the_workers_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OutputError("the disk is full")

    monkeypatch.setattr("langdu.audio.render.Renderer.add", full)
    others = psutil.Process().children(recursive=True)
    with pytest.raises(OutputError) as caught:
        make(tmp_path / "a.wav", engine_options={"delay_s": 0.05})
    assert [child for child in psutil.Process().children(recursive=True) if child not in others] == []
    assert caught.value.message == "the disk is full"  # which is still held here, with all its frames
    assert not (tmp_path / "a.wav").exists()


def test_what_lies_beside_a_book_can_be_read_by_whom_the_book_can(tmp_path: Path) -> None:
    make(tmp_path / "a.wav")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir() if path.is_file()}
    assert set(modes.values()) == {modes["a.wav"]}
