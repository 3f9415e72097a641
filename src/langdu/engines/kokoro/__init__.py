"""Kokoro-82M on ONNX Runtime: the built-in voices. Serial: a pool of processes is how it uses cores."""

from langdu.engines.kokoro.engine import ACCEPTS, KokoroEngine, describe, load

__all__ = ["ACCEPTS", "KokoroEngine", "describe", "load"]
