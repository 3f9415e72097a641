"""Qwen3-TTS on one GPU, random weights at real size: our engine beside mlx-audio, qwen-tts and faster-qwen3-tts.

    python benchmarks/qwen3_gpu.py [--size 1.7b] [--only steps,mlx-audio,…] [--out benchmarks/results]

Each part runs in a process of its own, one after another, so that all figures are of one machine and one run.
Needs mlx with a GPU backend; the torch peers need qwen-tts-hf and faster-qwen3-tts and are left out without.
Prints the table, writes JSON and a chart. Times are medians of at least 3; ms for a frame of 80 ms of sound.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import qwen3_random as random_model

PARTS = {
    "steps": 150, "plain": 400, "nodes": 90, "engine": 150, "mlx-audio": 200, "torch": 240, "processes": 150,
}  # fmt: skip
"""Each part and the seconds it may take."""
FRAMES = 60
REPEATS = 3


def emit(**row: Any) -> None:
    print(json.dumps(row), flush=True)


def row(engine: str, version: str, precision: str, rows: int, ms: list[float], **more: Any) -> None:
    """One measured engine: ms for a step of all rows, lowest to highest."""
    middle = statistics.median(ms)
    emit(
        engine=engine, version=version, precision=precision, rows=rows, ms_per_frame=round(middle, 3),
        spread_ms=[round(min(ms), 3), round(max(ms), 3)], frames_per_s=round(rows * 1000 / middle, 1), **more,
    )  # fmt: skip


def peak_gb() -> float:
    import mlx.core as mx

    return round(mx.get_peak_memory() / 1e9, 2)


def fill(step: Any, checkpoint: Any) -> None:
    """A clone's prompt of 328 positions, as embeddings, in every row."""
    import mlx.core as mx

    from langdu.engines.qwen3.prompt import Prompt
    from langdu.engines.qwen3.sampling import Sampling

    hidden = checkpoint.config.talker_config.hidden_size
    embeds = (mx.random.normal((1, 328, hidden)) * 0.1).astype(mx.bfloat16)
    start = Prompt(embeds, embeds[:, :20], embeds[:, :1], 20)
    for index in range(step.rows):
        step.admit(index, start, Sampling(min_new_tokens=1000), index)


def per_frame(step: Any, frames: int = FRAMES) -> float:
    """ms a frame, queued two ahead as the scheduler does it."""
    import numpy as np

    started, queued = time.perf_counter(), []
    for _ in range(frames):
        queued.append(step.step())
        if len(queued) > 2:
            np.array(queued.pop(0))
    for codes in queued:
        np.array(codes)
    return (time.perf_counter() - started) / frames * 1000


def step_rows(name: str, make: Callable[[int], Any], checkpoint: Any, rows: list[int], frames: int = FRAMES) -> None:
    import mlx.core as mx

    from langdu import __version__

    for count in rows:
        mx.reset_peak_memory()
        step = make(count)
        started = time.perf_counter()
        fill(step, checkpoint)
        per_frame(step, 4)
        warm_s = round(time.perf_counter() - started, 1)
        ms = [per_frame(step, frames) for _ in range(5)]
        row(name, __version__, checkpoint.precision, count, ms, peak_gb=peak_gb(), first_frames_s=warm_s)
        del step


def steps(size: str) -> None:
    from langdu.engines.qwen3.frame_step import choose

    found = random_model.checkpoint(size)
    step_rows(
        "langdu", lambda n: choose(found.talker, rows=n, context=1024, device=found.device), found, [1, 8, 16, 32]
    )


def plain(size: str) -> None:
    from langdu.engines.qwen3.frame_step import FrameStep

    for bits, rows in ((0, [1, 8]), (8, [1, 8])):
        found = random_model.checkpoint(size, bits)
        step_rows("langdu, plain MLX", lambda n, c=found: FrameStep(c.talker, rows=n, capacity=1024), found, rows, 30)


def nodes(size: str) -> None:
    """Graph nodes of a frame: MLX writes each CUDA graph it launches to a file."""
    from langdu.engines.qwen3.frame_step import choose

    found = random_model.checkpoint(size)
    step = choose(found.talker, rows=1, context=1024, device=found.device)
    fill(step, found)
    per_frame(step, 4)
    folder = Path(os.environ["MLX_SAVE_CUDA_GRAPHS_DOT_FILE"]).parent
    before = set(folder.iterdir())
    per_frame(step, 10)
    kernels = [
        line for file in set(folder.iterdir()) - before for line in file.read_text(errors="replace").splitlines()
        if re.match(r"\s*\"?graph_\d+_node_\d+\"?\s*\[", line)
    ]  # fmt: skip
    emit(nodes_per_frame=len(kernels) / 10, graphs=len(set(folder.iterdir()) - before))


def engine(size: str) -> None:
    """First sound, a whole article, and memory over 50 requests, codec and all."""
    import mlx.core as mx

    from langdu import __version__
    from langdu.engines.base import Piece, Request, Spoken
    from langdu.text.segment import sentences

    started = time.perf_counter()
    found = random_model.checkpoint(size)
    build_s = time.perf_counter() - started
    one = random_model.engine(found, 1)
    began = time.perf_counter()
    one.codec.warm()
    codec_warm_s = time.perf_counter() - began
    key = one.prepare(random_model.persona()).key

    def first_ms(text: str = random_model.TEXT) -> float:
        began, said = time.perf_counter(), one.speak([Request("1", text, "zh", key, max_s=3, stream=True)])
        first = next(event for event in said if isinstance(event, Piece))
        wall = (time.perf_counter() - began) * 1000
        list(said)
        assert len(first.audio)
        return wall

    cold = first_ms()
    waits = sorted(first_ms() for _ in range(7))
    others = sorted(first_ms(random_model.TEXT[: 20 + 3 * i]) for i in range(7))  # each of a length not seen before
    emit(engine="langdu", version=__version__, precision=found.precision, rows=1,
         first_audio_ms=round(statistics.median(waits), 1),
         first_audio_spread_ms=[round(waits[0], 1), round(waits[-1], 1)],
         first_audio_new_length_ms=round(statistics.median(others), 1),
         first_audio_new_length_spread_ms=[round(others[0], 1), round(others[-1], 1)],
         first_audio_cold_ms=round(cold, 1), codec_warm_s=round(codec_warm_s, 2))  # fmt: skip
    codec(one)
    article = (random_model.ROOT / "examples" / "long.zh.txt").read_text(encoding="utf-8")
    chunks = [""]
    for sentence in (part for line in article.splitlines() for part in sentences(line)):
        if chunks[-1] and len(chunks[-1]) + len(sentence) > 100:
            chunks.append("")
        chunks[-1] += sentence
    for slots in (1, 8, 32):
        many = random_model.engine(found, slots)
        key = many.prepare(random_model.persona()).key
        requests = [Request(str(i), text, "zh", key, max_s=len(text) / 4.5) for i, text in enumerate(chunks)]
        list(many.speak(requests[:1]))
        walls = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            takes = [event for event in many.speak(requests) if isinstance(event, Spoken)]
            walls.append(time.perf_counter() - began)
        sound = sum(len(take.audio) for take in takes) / 24_000
        wall = statistics.median(walls)
        emit(article_characters=len(article), slots=slots, chunks=len(chunks), wall_s=round(wall, 2),
             sound_s=round(sound, 1), rtf=round(wall / sound, 4), build_s=round(build_s, 1))  # fmt: skip
    memory = []
    for _ in range(6):
        batch = [Request(str(i), chunks[i % len(chunks)], "zh", key, max_s=2.0, seed=i) for i in range(10)]
        list(many.speak(batch))
        memory.append(round(mx.get_active_memory() / 1e9, 3))
    emit(memory_gb_after_each_10_requests=memory, cache_gb=round(mx.get_cache_memory() / 1e9, 3))


def codec(engine: Any) -> None:
    """Decoding alone, whole takes of lengths not seen before."""
    import numpy as np

    draw = np.random.default_rng(0)
    for frames in (37, 61, 90, 137, 149, 211):
        codes = draw.integers(0, 2048, (frames, 16)).astype(np.int32)
        began = time.perf_counter()
        engine.codec.decode(codes)
        emit(codec_frames=frames, codec_ms=round((time.perf_counter() - began) * 1000, 1))


def mlx_audio(size: str) -> None:
    """Its own generate and batch_generate; the marginal time of a frame, from runs of two lengths."""
    from importlib.metadata import version

    import mlx.core as mx

    def tokens(text: str) -> list[int]:
        body = [10 + ord(c) % 90_000 for c in text if ord(c) > 0x2000 or c.isalpha()]
        return [1, 2, 3, *body, 4, 5, 1, 2, 3]

    class Tokens:
        encode = staticmethod(tokens)

    for bits in (0, 8):
        found = random_model.checkpoint(size, bits)
        model = found.model
        model.tokenizer = Tokens()
        end = model.config.talker_config.codec_eos_token_id
        for name in ("_sample_token", "_sample_token_batch"):
            setattr(model, name, without_end(getattr(model, name), end))
        clip = mx.random.normal((int(24_000 * random_model.CLIP_S),)) * 0.1
        common = {"ref_audio": clip, "ref_text": random_model.TRANSCRIPT, "lang_code": "chinese"}

        def run(rows: int, frames: int, model: Any = model, common: dict[str, Any] = common) -> float:
            began = time.perf_counter()
            if rows == 1:
                list(model.generate(random_model.TEXT, max_tokens=frames, **common))
            else:
                list(model.batch_generate([random_model.TEXT] * rows, max_tokens=frames, **common))
            return time.perf_counter() - began

        for rows in (1, 8):
            mx.reset_peak_memory()
            run(rows, 4)
            ms = []
            for _ in range(REPEATS):
                short, long = run(rows, 10), run(rows, 40)
                ms.append((long - short) / 30 * 1000)
            row("mlx-audio", version("mlx-audio"), found.precision, rows, ms, peak_gb=peak_gb())


def without_end(draw: Callable[..., Any], end: int) -> Callable[..., Any]:
    """mlx-audio's draw, with the end of speech suppressed as well."""

    def drawn(logits: Any, *rest: Any, suppress_tokens: list[int] | None = None, **more: Any) -> Any:
        suppressed = [*suppress_tokens, end] if suppress_tokens else suppress_tokens
        return draw(logits, *rest, suppress_tokens=suppressed, **more)

    return drawn


def torch_peers(size: str) -> None:
    import qwen3_peers

    for found in qwen3_peers.measure(size):
        if "ms" in found:
            row(**found)
        else:
            emit(**found)


def processes(size: str) -> None:
    """16 requests: one process of 16 rows against four processes of one row each."""

    def run(count: int, slots: int, requests: int) -> dict[str, float]:
        command = [
            sys.executable,
            __file__,
            "--size",
            size,
            "--part",
            "worker",
            "--slots",
            str(slots),
            "--requests",
            str(requests),
        ]
        running = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()  # ready: loaded and warm
        began = time.perf_counter()
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        done = [json.loads(process.communicate()[0]) for process in running]
        wall = max(found["until"] for found in done) - began
        return {"wall_s": round(wall, 2), "sound_s": round(sum(f["sound_s"] for f in done), 1),
                "gpu_gb": round(sum(f["peak_gb"] for f in done), 2)}  # fmt: skip

    one, four = run(1, 16, 16), run(4, 1, 4)
    emit(one_process=one, four_processes=four, throughput_ratio=round(four["wall_s"] / one["wall_s"], 2),
         memory_ratio=round(one["gpu_gb"] / four["gpu_gb"], 2))  # fmt: skip


def worker(size: str, slots: int, requests: int) -> None:
    from langdu.engines.base import Request, Spoken

    made = random_model.engine(random_model.checkpoint(size), slots, 1024)
    key = made.prepare(random_model.persona()).key
    asked = [Request(str(i), random_model.TEXT, "zh", key, max_s=8, seed=i) for i in range(requests)]
    list(made.speak(asked[:1]))
    print("ready", flush=True)
    sys.stdin.readline()
    takes = [event for event in made.speak(asked) if isinstance(event, Spoken)]
    emit(until=time.perf_counter(), sound_s=sum(len(t.audio) for t in takes) / 24_000, peak_gb=peak_gb())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="1.7b", choices=["0.6b", "1.7b"])
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--out", type=Path, default=random_model.ROOT / "benchmarks" / "results")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--slots", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--requests", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part == "worker":
        worker(options.size, options.slots, options.requests)
    elif options.part:
        run = {"steps": steps, "plain": plain, "nodes": nodes, "engine": engine, "mlx-audio": mlx_audio,
               "torch": torch_peers, "processes": processes}  # fmt: skip
        run[options.part](options.size)
    else:
        report(
            options.size, [row for part in options.only.split(",") for row in child(part, options.size)], options.out
        )


def child(part: str, size: str) -> Iterator[dict[str, Any]]:
    """The rows a part prints; whatever it printed before its time was up counts."""
    environment = dict(os.environ)
    if part == "nodes":
        environment["MLX_SAVE_CUDA_GRAPHS_DOT_FILE"] = str(Path(tempfile.mkdtemp()) / "graph")
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, __file__, "--size", size, "--part", part], stdout=subprocess.PIPE,
                               text=True, env=environment)  # fmt: skip
    try:
        out, _ = process.communicate(timeout=PARTS[part])
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
    for line in out.splitlines():
        if line.startswith("{"):
            print(line, flush=True)
            yield {"part": part, **json.loads(line)}
    state = "done" if process.returncode == 0 else f"stopped ({process.returncode})"
    print(f"{part}: {state} after {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


def report(size: str, rows: list[dict[str, Any]], out: Path) -> None:
    import mlx.core as mx

    name = str(mx.device_info().get("device_name", "gpu"))
    stem = f"{date.today()}-qwen3-{size}-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}"
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{stem}.json").write_text(json.dumps({"machine": name, "size": size, "rows": rows}, indent=1) + "\n")
    speeds = [found for found in rows if "ms_per_frame" in found]

    def best(engine: str, count: int, precision: str = "") -> float | None:
        values = [r["ms_per_frame"] for r in speeds
                  if r["engine"] == engine and r["rows"] == count and precision in ("", r["precision"])]  # fmt: skip
        return min(values, default=None)

    for count, peer, precision in (
        (1, "mlx-audio", ""),
        (8, "mlx-audio", ""),
        (1, "faster-qwen3-tts", ""),
        (32, "qwen-tts", "bfloat16"),
    ):
        ours, theirs = best("langdu", count, precision), best(peer, count, precision)
        if ours and theirs:
            print(f"{count} row(s) against {peer}: {theirs / ours:.1f} times as fast ({ours / theirs:.3f} of its time)")
    for found in sorted(speeds, key=lambda r: (r["rows"], r["ms_per_frame"])):
        what = f"{found['rows']:>3} rows  {found['engine']:<18} {found['precision']:<9}"
        print(f"{what} {found['ms_per_frame']:>8.2f} ms/frame {found['frames_per_s']:>8.0f} frames/s")
    chart(speeds, f"Qwen3-TTS {size}, {name}", out / f"{stem}.png")


def chart(speeds: list[dict[str, Any]], title: str, path: Path) -> None:
    try:
        import matplotlib
    except ImportError:
        print("no chart: matplotlib is not installed", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    counts = sorted({found["rows"] for found in speeds})
    if not counts:
        return  # only parts without a speed by rows were asked for
    figure, axes = pyplot.subplots(1, len(counts), figsize=(4 * len(counts), 3.4), squeeze=False)
    for axis, count in zip(axes[0], counts, strict=True):
        here = sorted((f for f in speeds if f["rows"] == count), key=lambda f: f["frames_per_s"])
        bars = axis.barh([f"{f['engine']}\n{f['precision']}" for f in here], [f["frames_per_s"] for f in here],
                         color=["#0a6" if f["engine"] == "langdu" else "#aaa" for f in here])  # fmt: skip
        axis.bar_label(bars, fmt="%.0f", padding=2, fontsize=8)
        axis.set_title(f"{count} row{'s' if count > 1 else ''}", fontsize=10)
        axis.set_xlabel("frames/s (12.5 are real time)", fontsize=8)
        axis.tick_params(labelsize=8)
        axis.margins(x=0.18)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
