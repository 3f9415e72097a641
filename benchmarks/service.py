"""The service on the built-in voice: latency, load, memory, leaks. Ratios are of one run on one machine.

    python benchmarks/service.py [--only PART]... [--small] [--json] [-o FILE]

first        first audio byte of a warm short sentence against the engine's own time for its first chunk
three        three requests at once, against the work of their chunks over two workers
book         a short request while a book is made, against the longest chunk and its own
idle         unloading: the child ends and the memory of the process tree is what it was
connections  500 requests at once, and 500 connections that send nothing
soak         2,000 short requests to an engine without a model, 200 to the real one; every reply is hashed
             and compared with what the engine, run in this process, makes of the same text

Run it with nothing else on the machine. Needs two cores and the model kokoro. `--small` makes a tenth of it.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import os
import platform
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import psutil
from service_kit import Reference, Service, hash_of, mb

from langdu import __version__
from langdu.synthesis.model import Chunk

ROOT = Path(__file__).resolve().parent.parent
VOICE = "zf_xiaobei"
SENTENCE = "今天的会议改到下午三点。"
TWO = "今天的会议改到下午三点。请大家提前五分钟到三楼的会议室，带上上个月的报告和自己的电脑。"
SENTENCES = (
    SENTENCE, "你好，很高兴认识你。", "列车准时离开上海。", "外面下着小雨，天气冷了很多。", "请把门关上。",
    "他在图书馆看了一天书。", "明天早上八点出发。", "这家饭馆的饺子很好吃。", "我们去公园走走吧。", "谢谢，再见。",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Check:
    """A figure and the most it may be."""

    name: str
    value: float
    most: float
    unit: str = "x"

    @property
    def met(self) -> bool:
        return self.value <= self.most

    def line(self) -> str:
        wanted = f"at most {self.most:g}{self.unit}"
        return f"  {'met   ' if self.met else 'MISSED'} {self.name}: {self.value:.3g}{self.unit} ({wanted})"


@dataclass(frozen=True, slots=True)
class Part:
    checks: list[Check]
    facts: dict[str, Any]


def first(small: bool) -> Part:
    repeats = 3 if small else 12
    reference = Reference("kokoro", VOICE)
    times: dict[str, list[float]] = collections.defaultdict(list)
    with Service() as service, service.client() as client:
        service.warm(VOICE)
        reference.say(reference.chunks(SENTENCE)[0])
        for _ in range(repeats):  # in turns, so that a busy moment falls on all of them
            for name, text in (("short", SENTENCE), ("streamed", TWO)):
                times[f"engine, {name}"].append(reference.say(reference.chunks(text)[0])[1])
                times[f"service, {name}"].append(_first_byte(client, text))
    middle = {name: statistics.median(found) for name, found in times.items()}
    ratio = {name: middle[f"service, {name}"] / middle[f"engine, {name}"] for name in ("short", "streamed")}
    return Part(
        [Check(f"first audio byte over the engine's own first chunk, {name}", ratio[name], 1.3) for name in ratio],
        {"seconds": _rounded(middle), "fastest": _rounded({name: min(found) for name, found in times.items()})},
    )


def _first_byte(client: httpx.Client, text: str) -> float:
    started = time.perf_counter()
    with client.stream("POST", "/v1/audio/speech", json={"input": text, "voice": VOICE}) as answer:
        answer.raise_for_status()
        pieces = answer.iter_raw()
        next(pieces)
        seconds = time.perf_counter() - started
        collections.deque(pieces, maxlen=0)
    return seconds


def three(small: bool) -> Part:
    article = (ROOT / "examples" / "long.zh.txt").read_text(encoding="utf-8").split("\n\n")
    texts = [paragraph[:80] if small else paragraph for paragraph in article[:3]]
    with Service() as service:
        service.warm(VOICE)
        alone = []
        for text in texts:
            started = time.perf_counter()
            _whole(service, text)
            alone.append(time.perf_counter() - started)
        before, started = _work_s(service), time.perf_counter()
        with ThreadPoolExecutor(3) as together:
            answers = list(together.map(lambda text: _whole(service, text), texts))
        total, work = time.perf_counter() - started, _work_s(service) - before
    assert all(answer.status_code == 200 for answer in answers)
    return Part(
        [Check("three at once over the sum of their work over two workers", total / (work / 2), 1.1)],
        {"seconds": round(total, 2), "work_s": round(work, 2), "one_after_another_s": _rounded(alone)},
    )


def _whole(service: Service, text: str) -> httpx.Response:
    with service.client(name=str(threading.get_ident())) as client:
        return client.post("/v1/audio/speech", json={"input": text, "voice": VOICE, "response_format": "pcm"})


def _work_s(service: Service) -> float:
    lines = httpx.get(f"{service.url}/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("langdu_engine_seconds_total "))


def book(small: bool) -> Part:
    """One worker, so that the short request cannot pass on a second one."""
    text = (ROOT / "examples" / "long.zh.txt").read_text(encoding="utf-8") * 2
    reference = Reference("kokoro", VOICE)
    short_s = statistics.median(reference.say(reference.chunks(SENTENCE)[0])[1] for _ in range(5))
    waits = []
    with Service(workers=1) as service, service.client() as client:
        service.warm(VOICE, workers=1)
        job = client.post("/v1/jobs", json={"input": text, "voice": VOICE, "verify": False}).json()["id"]
        while client.get(f"/v1/jobs/{job}").json()["made"] < 1:
            time.sleep(0.1)
        for _ in range(3 if small else 8):
            waits.append(_first_byte(client, SENTENCE))
            time.sleep(0.3)
        state = client.get(f"/v1/jobs/{job}").json()
        client.delete(f"/v1/jobs/{job}").raise_for_status()
    longest = max(reference.say(_chunk(reference, item))[1] for item in state["items"][: state["made"] + 1])
    assert state["state"] == "running", "the book was done before the requests were"
    ratio = max(waits) / (longest + short_s)
    return Part(
        [Check("slowest short request over the book's longest chunk and its own", ratio, 1.3)],
        {"waits_s": _rounded(waits), "longest_chunk_s": round(longest, 3), "short_s": round(short_s, 3)},
    )  # fmt: skip


def _chunk(reference: Reference, item: dict[str, Any]) -> Chunk:
    return replace(reference.chunks(SENTENCE)[0], text=item["text"], language=item["language"])


def idle(small: bool) -> Part:
    with Service("--idle", "2") as service:

        def tree() -> float:
            return mb(service.memory) + sum(mb(child) for child in service.memory.children(recursive=True))

        with service.client() as client:
            _first_byte(client, "你好")
        loaded, pids = tree(), [worker.pid for worker in service.workers()]
        started = time.monotonic()
        while any(psutil.pid_exists(pid) for pid in pids) and time.monotonic() - started < 30:
            time.sleep(0.05)
        gone = time.monotonic() - started
        empty, server = tree(), mb(service.memory)
        with service.client() as client:
            again = _first_byte(client, "你好")
    return Part(
        [Check("memory above the server's own after unloading", empty - server, 0.0, " MB"),
         Check("time from the last request to the child's end, idle after 2 s", gone, 3.0, " s")],
        {"loaded_mb": round(loaded), "unloaded_mb": round(empty), "workers": len(pids),
         "first_byte_cold_s": round(again, 2)},
    )  # fmt: skip


def connections(small: bool) -> Part:
    count = 100 if small else 500
    reference = Reference("kokoro", VOICE)
    wanted = {text: reference.hash(text) for text in SENTENCES}
    with Service() as service:
        service.warm(VOICE)
        for text in SENTENCES:
            _whole(service, text)
        before = mb(service.memory)
        with service.peak() as peak:
            started = time.perf_counter()
            answers = asyncio.run(_burst(service.url, count))
            seconds = time.perf_counter() - started
            silent = asyncio.run(_silent(service.url, count))
        with service.client() as client:
            client.post("/v1/audio/speech", json={"input": SENTENCE, "voice": VOICE}).raise_for_status()
    kinds = collections.Counter(answer if isinstance(answer, str) else answer.status_code for _, answer in answers)
    replies = [(text, answer) for text, answer in answers if not isinstance(answer, str)]
    crossed = sum(a.status_code == 200 and hash_of(a) != wanted[text] for text, a in replies)
    rude = sum(
        a.status_code != 200 and not (a.status_code in (429, 503) and "retry-after" in a.headers) for _, a in replies
    )
    hung = sum(count for kind, count in kinds.items() if isinstance(kind, str))
    return Part(
        [Check("requests neither answered nor refused", hung, 0, ""),
         Check("refusals without a Retry-After", rude, 0, ""),
         Check("replies with another's sound", crossed, 0, ""),
         Check("requests of others unanswered beside silent connections", silent["unanswered"], 0, ""),
         Check("memory of the server, peak over before", peak[0] - before, 150, " MB")],
        {"connections": count, "answers": {str(kind): n for kind, n in sorted(kinds.items(), key=str)},
         "seconds": round(seconds, 1), "server_mb": {"before": round(before), "peak": round(peak[0])},
         "silent": silent},
    )  # fmt: skip


async def _burst(url: str, count: int) -> list[tuple[str, httpx.Response | str]]:
    """So many requests, each on a connection of its own, all open at once. An exception is named, not raised."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=url, timeout=240, limits=limits) as client:

        async def ask(number: int) -> tuple[str, httpx.Response | str]:
            text = SENTENCES[number % len(SENTENCES)]
            wish = {"input": text, "voice": VOICE, "response_format": "pcm"}
            try:
                return text, await client.post("/v1/audio/speech", json=wish)
            except httpx.HTTPError as error:
                return text, type(error).__name__

        return await asyncio.gather(*(ask(number) for number in range(count)))


async def _silent(url: str, count: int) -> dict[str, Any]:
    """Connections that send half a request and then nothing; is anybody else still answered?"""
    host, port = url.removeprefix("http://").split(":")
    open_ = [await asyncio.open_connection(host, int(port)) for _ in range(count)]
    for _, writer in open_:
        writer.write(b"POST /v1/audio/speech HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    await asyncio.sleep(0.5)
    unanswered = 0
    async with httpx.AsyncClient(base_url=url, timeout=10) as client:
        for _ in range(10):
            try:
                unanswered += (await client.get("/health")).status_code != 200
            except httpx.HTTPError:
                unanswered += 1
    started = time.monotonic()
    ended = await asyncio.gather(*(_ended(reader) for reader, _ in open_))
    for _, writer in open_:
        writer.close()
    return {"connections": count, "unanswered": unanswered, "closed_by_the_server": sum(ended),
            "closed_after_s": round(time.monotonic() - started, 1)}  # fmt: skip


async def _ended(reader: asyncio.StreamReader, within_s: float = 40.0) -> bool:
    try:
        await asyncio.wait_for(reader.read(), within_s)
    except (TimeoutError, ConnectionError):
        return False
    return True


def soak(small: bool) -> Part:
    checks, facts = [], {}
    plans = (
        ("tone", "tone", 2000, [f"第{n}句话，一共说了{n * 7}个字。" for n in range(97)]),
        ("kokoro", VOICE, 200, SENTENCES),
    )
    for engine, voice, count, texts in plans:
        count = count // 10 if small else count
        reference = Reference(engine, voice)
        wanted = {text: reference.hash(text) for text in texts}
        with Service() as service:
            service.warm(voice)
            _soak(service, voice, count // 4, wanted)
            before, started = service.rss_mb(), time.perf_counter()
            bad = _soak(service, voice, count, wanted)
            seconds, after = time.perf_counter() - started, service.rss_mb()
            status = service.status()
        growth = {name: 100 * (after[name] / before[name] - 1) for name in before}
        checks += [
            Check(f"{engine}: {count} requests, lost or crossed replies", bad, 0, ""),
            Check(f"{engine}: largest growth of a process", max(growth.values()), 5, " %"),
            Check(f"{engine}: requests left over and workers that died", status["queued"] + status["deaths"], 0, ""),
        ]
        facts[engine] = {"requests": count, "seconds": round(seconds, 1), "before_mb": _rounded(before),
                         "after_mb": _rounded(after), "growth_percent": _rounded(growth)}  # fmt: skip
    return Part(checks, facts)


def _soak(service: Service, voice: str, count: int, wanted: dict[str, str]) -> int:
    """How many of `count` replies were lost or had another sound than their text's. Four clients at once."""
    texts = list(wanted)

    def client_of(number: int) -> int:
        bad = 0
        with service.client(name=f"client {number}") as client:
            for index in range(number, count, 4):
                text = texts[index % len(texts)]
                wish = {"input": text, "voice": voice, "response_format": "pcm", "stream": index % 2 == 0}
                answer = client.post("/v1/audio/speech", json=wish)
                bad += answer.status_code != 200 or hash_of(answer) != wanted[text]
        return bad

    with ThreadPoolExecutor(4) as clients:
        return sum(clients.map(client_of, range(4)))


def _rounded(values: Any) -> Any:
    if isinstance(values, dict):
        return {name: round(value, 4 if value < 10 else 1) for name, value in values.items()}
    return [round(value, 3) for value in values]


PARTS: dict[str, Callable[[bool], Part]] = {
    "first": first, "three": three, "book": book, "idle": idle, "connections": connections, "soak": soak,
}  # fmt: skip


def run(names: list[str], small: bool) -> Iterator[tuple[str, Part, float]]:
    for name in names:
        started = time.perf_counter()
        part = PARTS[name](small)
        yield name, part, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=PARTS, help="may be repeated")
    parser.add_argument("--small", action="store_true", help="a tenth of the work: to see that it runs")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("-o", "--output", type=Path, help="write the JSON object there as well")
    options = parser.parse_args()
    parts = {}
    for name, part, seconds in run(options.only or list(PARTS), options.small):
        checks = [{"name": c.name, "value": round(c.value, 4), "most": c.most, "unit": c.unit.strip(), "met": c.met}
                  for c in part.checks]  # fmt: skip
        parts[name] = {"checks": checks, "facts": part.facts, "seconds": round(seconds, 1)}
        if not options.json:
            print(f"{name} ({seconds:.0f} s)", *(check.line() for check in part.checks), sep="\n")
            print(f"    {json.dumps(part.facts, ensure_ascii=False)}", flush=True)
    found = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores", "date": time.strftime("%Y-%m-%d"),
        "langdu": __version__, "voice": VOICE, "small": options.small, "parts": parts,
    }  # fmt: skip
    text = json.dumps(found, ensure_ascii=False, indent=1) + "\n"
    if options.json:
        print(text, end="")
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
