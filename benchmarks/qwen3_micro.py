"""A guard without a GPU: the compiled frame step against mlx-audio's modules called step by step, tiny model, CPU.

    python benchmarks/qwen3_micro.py [--rows 1] [--frames 40] [--least 1.5]

Prints ms a frame of both, medians of 5 interleaved runs, and exits with 1 when the ratio is under --least.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1)
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--least", type=float, default=1.5)
    options = parser.parse_args()

    from tests import tiny_checkpoint

    from langdu.engines.qwen3 import checkpoint, prompt, talker
    from langdu.engines.qwen3.frame_step import FrameStep
    from langdu.engines.qwen3.prompt import Conditions
    from langdu.engines.qwen3.sampling import Sampling

    found = checkpoint.load(tiny_checkpoint.build(Path(tempfile.mkdtemp()) / "base", "base"), device="cpu")
    sampling = Sampling(min_new_tokens=1000)
    start = prompt.build(found, "the quick brown fox", "en", Conditions(speaker=np.zeros(96, np.float32)))
    step = FrameStep(found.talker, rows=options.rows, capacity=256)
    for index in range(options.rows):
        step.admit(index, start, sampling, index)
    np.array(step.step())

    def fast() -> float:
        began = time.perf_counter()
        for _ in range(options.frames):
            np.array(step.step())
        return (time.perf_counter() - began) / options.frames / options.rows * 1000

    def naive() -> float:
        began = time.perf_counter()
        list(itertools.islice(talker.frames(found, start, sampling, 0), options.frames))
        return (time.perf_counter() - began) / options.frames * 1000

    runs = [(naive(), fast()) for _ in range(5)]
    slow, quick = (statistics.median(times) for times in zip(*runs, strict=True))
    print(
        json.dumps(
            {
                "naive_ms": round(slow, 2),
                "compiled_ms": round(quick, 2),
                "ratio": round(slow / quick, 2),
                "rows": options.rows,
            }
        )
    )
    sys.exit(slow / quick < options.least)


if __name__ == "__main__":
    main()
