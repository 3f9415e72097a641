import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
import soundfile

from langdu.service.jobs import JobStore
from langdu.service.problems import Conflict, NotFound
from langdu.synthesis.model import Chunk, Plan
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


def plan(chunks: int) -> Plan:
    persona = BuiltinPersona(name="tone", voice="tone")
    return Plan(tuple(Chunk(i, 0, i + 1, f"第{i}段", "zh", persona, 0.1) for i in range(chunks)))


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


def test_a_deleted_job_is_gone_with_its_sound(client: httpx.Client, service: Running) -> None:
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


def test_a_text_with_nothing_to_say_makes_no_job(client: httpx.Client) -> None:
    assert client.post("/v1/jobs", json={"input": "。。。", "voice": "tone"}).status_code == 400


def test_what_was_running_is_queued_after_a_restart(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    job = store.add(plan(3), EngineSpec("tone"), title="", format="wav", verify=False)
    store.set_state(job, "running")
    store.made(job, 0, attempt=1, file="0.wav", verdict="pass", heard="", cer=0.0, audio_seconds=1, seconds=1)
    store.close()
    again = JobStore(tmp_path)
    assert again.next_queued() == job
    assert again.unmade(job) == [(1, 1), (2, 1)]
    again.close()


def test_a_chunk_comes_back_from_disk_as_it_was(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    made = plan(2)
    job = store.add(made, EngineSpec("tone", options={"slots": 2}), title="", format="wav", verify=False)
    assert store.plan(job) == (EngineSpec("tone", options={"slots": 2}), made.chunks)
    store.close()


def test_a_fault_stays_until_a_person_accepts_it(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    job = store.add(plan(1), EngineSpec("tone"), title="", format="wav", verify=True)
    store.made(job, 0, attempt=1, file="0.wav", verdict="fault", heard="x", cer=1.0, audio_seconds=1, seconds=1)
    store.finish(job, audio_seconds=1)
    assert store.get(job).state == "faulty"
    store.accept(job, 0)
    assert store.get(job).state == "done"
    store.close()


def test_only_what_can_be_done_in_a_state_is_done(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    job = store.add(plan(1), EngineSpec("tone"), title="", format="wav", verify=False)
    for wrong in (lambda: store.resume(job), lambda: store.accept(job, 0), lambda: store.result(job)):
        with pytest.raises(Conflict):
            wrong()
    with pytest.raises(NotFound):
        store.chunk(job, 1)
    store.close()


def test_a_job_survives_kill_9(tmp_path: Path) -> None:
    """The process is killed in the middle of a job; the next one says only what was missing."""
    environment = {**os.environ, "LANGDU_DATA_DIR": str(tmp_path)}
    store = JobStore(tmp_path / "service")
    spec = EngineSpec("tone", options={"delay_s": 0.05})
    job = store.add(plan(12), spec, title="书", format="wav", verify=False)
    store.close()
    first = _serve(environment)
    try:
        _until(tmp_path, job, lambda made: made >= 3)
        os.kill(first.pid, signal.SIGKILL)
    finally:
        first.kill()
        first.communicate()
    files = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "service/jobs" / job).glob("*.wav")}
    assert 3 <= len(files) < 12
    second = _serve(environment)
    try:
        _until(tmp_path, job, lambda made: made == 12, state="done")
    finally:
        second.terminate()
        second.communicate(timeout=30)
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "service/jobs" / job).glob("0*.wav")}
    kept = {name for name in files if after[name] == files[name]}
    assert len(kept) >= len(files) - 1  # a file whose row was not written yet is made again
    assert (tmp_path / "service/jobs" / job / "result.wav").is_file()


def _serve(environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "langdu", "serve", "--port", "0", "--workers", "1"]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)


def _until(folder: Path, job: str, enough: object, *, state: str = "") -> None:
    import sqlite3

    assert callable(enough)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        db = sqlite3.connect(folder / "service/jobs.sqlite")
        made = db.execute("SELECT SUM(file != '') FROM chunks WHERE job = ?", (job,)).fetchone()[0]
        found = db.execute("SELECT state FROM jobs WHERE id = ?", (job,)).fetchone()[0]
        db.close()
        if enough(made) and state in ("", found):
            return
        time.sleep(0.05)
    raise AssertionError("the job did not get so far")
