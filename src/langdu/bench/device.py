"""Run as `python -m langdu.bench.device`: one JSON object on the device MLX would compute on, {} without MLX.

A process of its own, because asking starts the GPU's driver, and only one thread of a process may touch MLX.
"""

from __future__ import annotations

import json
from typing import Any


def facts() -> dict[str, Any]:
    """`device` (cpu, metal, cuda), and for a GPU its `name` and its `total` and `free` bytes."""
    try:
        import mlx.core as mx
    except ImportError:
        return {}
    if not mx.is_available(mx.gpu):
        return {"device": "cpu"}
    device = "metal" if mx.metal.is_available() else "cuda"
    found = mx.device_info()
    total = found.get("total_memory", found.get("memory_size", 0))
    free = found.get("free_memory", found.get("max_recommended_working_set_size", total))
    return {"device": device, "name": str(found.get("device_name", device)), "total": int(total), "free": int(free)}


if __name__ == "__main__":
    print(json.dumps(facts()))
