import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import soundfile

from langdu.engines.tone import RATE_HZ, describe, tone
from langdu.service.job_book import book_of
from langdu.service.jobs import JobStore, JobWish
from langdu.service.problems import Conflict, NotFound
from langdu.synthesis.model import Chunk, Take
from langdu.synthesis.runner import EngineSpec
from langdu.voices.persona import BuiltinPersona

from .conftest import Running

TEXT = "今天天气很好。\n\n我们去公园里走了一整天，看见了很多人。\n\n然后回家。"


def make(client: httpx.Client, **wish: object) -> str:
    answer = client.post("/v1/jobs", json={"input": TEXT, "voice": "tone", "verify": False, **wish})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def ended(client: httpx.Client, job: str) -> dict[str, object]:
    for _ in range(400):
        found: dict[str, object] = client.get(f"/v1/jobs/{job}").json()
        if found["state"] not in ("queued", "running"):
            return found
        time.sleep(0.05)
    raise AssertionError("the job did not end")


PERSONA = BuiltinPersona(name="tone", voice="tone")


def chunks(count: int) -> list[Chunk]:
    return [Chunk(at, 0, at + 1, f"第{at}段", "zh", PERSONA, 0.1, key=f"key {at}") for at in range(count)]


def added(store: JobStore, count: int = 1, **wish: Any) -> str:
    job, _ = store.new_folder()
    store.add(job, JobWish("text.txt", format="wav", **wish), "", chunks(count))
    return job


def said(store: JobStore, job: str, index: int, *, fault: bool = False, seed: int = 0) -> None:
    """A take of a chunk, judged, as the runner would have left it."""
    engine = describe(EngineSpec("tone"))
    kept = store.takes.add(Take(f"key {index}", tone("好", seed), RATE_HZ, seed, 0.1, "ended", 0, engine))
    findings = [{"name": "words", "level": "fault", "message": "Other words."}] if fault else []
    verdict = {"outcome": "fault" if fault else "pass", "findings": findings, "heard": "好", "cer": 0.0, "by": "x/1"}
    store.takes.judged(kept.id, verdict, (float(fault),))
    store.made(job, f"1.{index + 1}", store.takes.get(kept.id))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JobStore]:
    found = JobStore(tmp_path, tmp_path / "takes")
    yield found
    found.close()


def test_a_document_becomes_one_file(client: httpx.Client, tmp_path: Path) -> None:
    job = make(client, response_format="flac", title="一天")
    found = ended(client, job)
    assert (found["state"], found["made"], found["title"]) == ("done", found["chunks"], "一天")
    answer = client.get(f"/v1/jobs/{job}/audio")
    assert "%E4%B8%80%E5%A4%A9.flac" in answer.headers["content-disposition"]
    (tmp_path / "x.flac").write_bytes(answer.content)
    assert soundfile.info(tmp_path / "x.flac").duration == pytest.approx(found["audio_seconds"], abs=0.01)


def test_progress_comes_as_events_and_ends_with_the_job(client: httpx.Client) -> None:
    job = make(client)
    events = [json.loads(x[6:]) for x in client.get(f"/v1/jobs/{job}/events").text.splitlines() if x[:6] == "data: "]
    assert {e["index"] for e in events if e["type"] == "chunk"} == set(range(events[-1]["job"]["chunks"]))
    assert events[-1]["job"]["state"] == "done"


def test_one_chunk_is_heard_and_said_again(client: httpx.Client) -> None:
    job = make(client)
    ended(client, job)
    before = client.get(f"/v1/jobs/{job}/chunks/1/audio").content
    assert client.post(f"/v1/jobs/{job}/chunks/1/redo").status_code == 200
    items = ended(client, job)["items"]
    assert isinstance(items, list)
    assert [item["attempt"] for item in items if item["index"] in (0, 1)] == [1, 2]
    assert client.get(f"/v1/jobs/{job}/chunks/1/audio").content != before


def test_the_same_words_are_not_said_twice(client: httpx.Client, service: Running) -> None:
    text = "这句话在两个任务里都有。\n\n"
    ended(client, make(client, input=text + "只有前一个任务有这句。"))
    takes = service.app.state.jobs.takes.size()[0]
    ended(client, make(client, input=text + "只有后一个任务有这句。"))
    assert service.app.state.jobs.takes.size()[0] == takes + 1


def test_roles_and_reading_are_as_in_a_book(client: httpx.Client) -> None:
    reading = {"dialogue": True, "lexicon": {"重庆": "从庆"}}
    job = make(client, input="甲：重庆到了。\n\n乙：好。", roles={"甲": "tone", "乙": "tone"}, reading=reading)
    assert [item["text"] for item in ended(client, job)["items"]] == ["从庆到了。", "好。"]  # type: ignore[index]
    answer = client.post(
        "/v1/jobs", json={"input": "甲：好。", "roles": {"甲": "nobody"}, "reading": {"dialogue": True}}
    )
    assert answer.status_code == 400
    assert "nobody" in answer.json()["error"]["message"]


def test_subtitles_and_a_report_lie_beside_the_sound(client: httpx.Client) -> None:
    job = make(client)
    ended(client, job)
    assert "今天天气很好" in client.get(f"/v1/jobs/{job}/srt").text
    assert client.get(f"/v1/jobs/{job}/vtt").text.startswith("WEBVTT")
    assert "<svg" in client.get(f"/v1/jobs/{job}/report").text


def test_a_job_that_is_stopped_goes_on_when_it_is_resumed(client: httpx.Client) -> None:
    job = make(client, input="\n\n".join(f"这是第{number}个很长很长的段落。" * 8 for number in range(60)))
    assert client.post(f"/v1/jobs/{job}/cancel").json()["state"] == "cancelled"
    assert client.post(f"/v1/jobs/{job}/cancel").status_code == 409
    assert client.post(f"/v1/jobs/{job}/resume").status_code == 200
    assert ended(client, job)["state"] == "done"


def test_a_deleted_job_is_gone_with_its_files(client: httpx.Client, service: Running) -> None:
    job = make(client)
    ended(client, job)
    folder = service.app.state.jobs.folder_of(job)
    assert folder.is_dir()
    assert client.delete(f"/v1/jobs/{job}").status_code == 204
    assert client.get(f"/v1/jobs/{job}").status_code == 404
    assert not folder.exists()


def test_a_text_file_is_taken(client: httpx.Client) -> None:
    answer = client.post(
        "/v1/jobs/document",
        files={"file": ("../../书.txt", TEXT.encode("gbk"))},
        data={"voice": "tone", "verify": "false"},
    )
    assert answer.status_code == 201, answer.text
    assert ended(client, answer.json()["id"])["state"] == "done"


@pytest.mark.parametrize("name", ["x.exe", "x", "", ".txt/..", "x.txt\x00.exe"])
def test_other_files_are_not_taken(client: httpx.Client, name: str) -> None:
    assert client.post("/v1/jobs/document", files={"file": (name, b"\x00\x01\x02")}).status_code == 400


@pytest.mark.parametrize("job", ["0" * 32, "..", "x", "' OR 1=1 --", "0" * 31])
def test_an_unknown_job_is_not_found(client: httpx.Client, job: str) -> None:
    for path in (job, f"{job}/audio", f"{job}/chunks/0/audio", f"{job}/events"):
        assert client.get(f"/v1/jobs/{path}").status_code in (400, 404)


@pytest.mark.parametrize(
    "wish",
    [{"input": "。。。"}, {"voice": "nobody"}, {"reading": {"x": 1}}, {"roles": {"": "tone"}}, {"loudness": "acx"}],
)
def test_a_wish_that_cannot_be_done_makes_no_job(
    client: httpx.Client, service: Running, wish: dict[str, object]
) -> None:
    before = sorted((service.app.state.jobs.folder / "jobs").glob("*"))
    assert client.post("/v1/jobs", json={"input": "你好。", "voice": "tone", **wish}).status_code == 400
    assert sorted((service.app.state.jobs.folder / "jobs").glob("*")) == before


def test_a_document_takes_the_same_options(client: httpx.Client) -> None:
    form = {"voice": "tone", "verify": "false", "options": json.dumps({"reading": {"lexicon": {"重庆": "从庆"}}})}
    answer = client.post("/v1/jobs/document", files={"file": ("x.txt", "重庆到了。".encode())}, data=form)
    assert answer.status_code == 201, answer.text
    assert ended(client, answer.json()["id"])["items"][0]["text"] == "从庆到了。"  # type: ignore[index]
    for wrong in ("[]", "{", '{"x": 1}', '{"speed": 99}'):
        answer = client.post("/v1/jobs/document", files={"file": ("x.txt", b"x")}, data={"options": wrong})
        assert answer.status_code == 400, wrong


def test_what_was_running_is_queued_after_a_restart(tmp_path: Path) -> None:
    store = JobStore(tmp_path, tmp_path / "takes")
    job = added(store, 3)
    store.set_state(job, "running")
    said(store, job, 0)
    store.close()
    again = JobStore(tmp_path, tmp_path / "takes")
    assert again.next_queued() == job
    assert again.get(job).made == 1
    again.close()


def test_a_wish_comes_back_from_disk_as_it_was(store: JobStore) -> None:
    job = added(store, roles={"旁白": "tone"}, script={"lexicon": {"重庆": "从庆"}}, engine_options={"slots": 2})
    assert store.wish(job) == JobWish(
        "text.txt",
        roles={"旁白": "tone"},
        format="wav",
        script={"lexicon": {"重庆": "从庆"}},
        engine_options={"slots": 2},
    )


def test_a_fault_stays_until_a_person_accepts_it(store: JobStore) -> None:
    job = added(store)
    said(store, job, 0, fault=True)
    store.finish(job, seconds=1, audio_seconds=1, problems=())
    assert store.get(job).state == "faulty"
    assert store.chunks(job)[0].faults == ("Other words.",)
    store.accept(job, 0)
    assert store.get(job).state == "done"
    assert store.takes.choice("key 0").state == "accepted"  # type: ignore[union-attr]


def test_what_another_program_chose_is_taken_over(store: JobStore) -> None:
    """`langdu takes accept` changes the take of a key; the job that uses the key shows it."""
    job = added(store)
    said(store, job, 0, fault=True)
    store.finish(job, seconds=1, audio_seconds=1, problems=())
    store.takes.accept(store.takes.of("key 0")[0].id)
    store.refresh(job)
    assert store.get(job).state == "done"
    assert store.chunks(job)[0].accepted


def test_a_book_that_is_read_otherwise_now_gets_its_new_chunks(store: JobStore) -> None:
    job = added(store, 2)
    said(store, job, 0)
    store.replan(job, chunks(2))
    assert store.get(job).made == 1
    store.replan(job, chunks(3))
    assert (store.get(job).chunks, store.get(job).made) == (3, 0)


def test_only_what_can_be_done_in_a_state_is_done(store: JobStore) -> None:
    job = added(store)
    for wrong in (lambda: store.resume(job), lambda: store.accept(job, 0), lambda: store.result(job)):
        with pytest.raises(Conflict):
            wrong()
    with pytest.raises(NotFound):
        store.chunk(job, 1)


def test_a_job_survives_kill_9(tmp_path: Path) -> None:
    """The process is killed in the middle of a job; the next one says only what was missing."""
    environment = {**os.environ, "LANGDU_DATA_DIR": str(tmp_path)}
    store = JobStore(tmp_path / "service", tmp_path / "takes")
    job, folder = store.new_folder()
    lines = [f"{number}号先生在第{number}天说了一句很短的话。" for number in range(12)]
    (folder / "text.txt").write_text("\n\n".join(lines), encoding="utf-8")
    wish = JobWish("text.txt", voice="tone", format="wav", verify=False, engine_options={"delay_s": 0.03})
    store.add(job, wish, "书", book_of(folder, wish).chunks)
    assert store.get(job).chunks == 12
    first = serve(environment)
    try:
        until(lambda: store.takes.size()[0] >= 3)
        os.kill(first.pid, signal.SIGKILL)
    finally:
        first.kill()
        first.communicate()
    before = {kept.id for row in book_of(folder, wish).chunks for kept in store.takes.of(row.key)}
    assert 3 <= len(before) < 12
    second = serve(environment)
    try:
        until(lambda: store.get(job).state == "done")
    finally:
        second.terminate()
        second.communicate(timeout=30)
    takes = [store.takes.of(chunk.key) for chunk in book_of(folder, wish).chunks]
    assert [len(found) for found in takes] == [1] * 12  # nothing was said twice
    assert before < {found[0].id for found in takes}
    assert store.result(job).is_file()
    store.close()


def serve(environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "langdu", "serve", "--port", "0", "--workers", "1"]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)


def until(enough: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not enough():
        assert time.monotonic() < end, "the job did not get so far"
        time.sleep(0.05)
