"""Record what the official PyTorch package makes of the tiny checkpoints: the other side of every parity test.

It needs torch and qwen-tts in an environment of their own (never in Langdu's):

    python3 -m venv official
    official/bin/pip install torch==2.13.0 transformers==4.57.3 accelerate librosa soundfile einops
    official/bin/pip install --no-deps qwen-tts==0.1.1
    official/bin/python tools/record_reference.py tests/engines/qwen3/official.npz

qwen-tts imports torchaudio, sox and onnxruntime for its 25 Hz tokenizer only; where they are missing, empty
modules take their place here. Everything runs on the CPU in float32, greedily, on one thread.

The file holds codes as int16, waveforms in steps of 4e-5 (so half a step, 2e-5, of a comparison to 1e-4 is
the file's), embeddings and scores as float32, and in `versions` what made it, as JSON.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
import types
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import tiny_checkpoint

TEXT = "Hello, how are you today? The quick brown fox jumps over the lazy dog."
MIXED = "你好，世界！今天 GPU 很忙。"
TRANSCRIPT = "The quick brown fox."
DESCRIPTION = "A cheerful young female voice"
TOKENIZED = [TEXT, MIXED, "it's 2024年3月15日,\n\n  naïve café ☕ e\u0301 assistant's", " leading\tand trailing  "]
FRAMES = 24
STEPS = 25_000
GREEDY = {"do_sample": False, "subtalker_dosample": False, "max_new_tokens": FRAMES + 1}


def stub_missing() -> None:
    """Empty modules for what only the 25 Hz tokenizer uses (after transformers has looked for the real ones)."""
    import transformers  # noqa: F401

    for name in ("torchaudio", "torchaudio.compliance", "torchaudio.compliance.kaldi", "sox", "onnxruntime"):
        try:
            __import__(name)
        except (ImportError, OSError):
            sys.modules[name] = types.ModuleType(name)
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, sys.modules[name])


def packed(wave: np.ndarray) -> np.ndarray:
    """Samples in steps of 1/STEPS as two planes of bytes, which compress better than 16-bit words; shape (2, n)."""
    steps = np.round(wave * STEPS).astype(np.int16)
    return np.stack([steps.view(np.uint16) & 0xFF, steps.view(np.uint16) >> 8]).astype(np.uint8)


class Recorder:
    """Runs the official model and keeps the codes it generated beside the waveform it returned."""

    def __init__(self, folder: Path) -> None:
        import torch
        from qwen_tts import Qwen3TTSModel

        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.model = Qwen3TTSModel.from_pretrained(str(folder), dtype=torch.float32, device_map="cpu")
        self.official_generate = self.model.model.generate
        self.codes: Any = None
        self.model.model.generate = self._generate

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        found = self.official_generate(*args, **kwargs)
        self.codes = found[0][0].numpy()
        return found

    def run(self, out: dict[str, np.ndarray], name: str, make: Callable[[], Any], *, wave: bool = False) -> None:
        waves, _ = make()
        out[f"{name}.codes"] = self.codes.astype(np.int16)
        out[f"{name}.samples"] = np.array(len(waves[0]))
        if wave:
            out[f"{name}.wave"] = packed(waves[0])
        print(f"{name}: {len(self.codes)} frames, {len(waves[0])} samples, peak {np.abs(waves[0]).max():.3f}, "
              f"{len(np.unique(self.codes[:, 0]))} different first codes")  # fmt: skip


def base(folder: Path, out: dict[str, np.ndarray]) -> None:
    recorder = Recorder(folder)
    model = recorder.model
    for index, text in enumerate(TOKENIZED):
        out[f"tokens.{index}"] = model._tokenize_texts([model._build_assistant_text(text)])[0][0].numpy()
    for name, seconds in (("ref3", 3.27), ("ref12", 12.4)):
        clip = (tiny_checkpoint.clip(seconds), 24_000)
        item = model.create_voice_clone_prompt(clip, TRANSCRIPT)[0]
        out[f"{name}.codes"] = item.ref_code.numpy().astype(np.int16)
        out[f"{name}.speaker"] = item.ref_spk_embedding.numpy()

        def clone(clip: Any = clip, **kwargs: Any) -> Any:
            return model.generate_voice_clone(
                TEXT, language="English", ref_audio=clip, ref_text=TRANSCRIPT, **GREEDY, **kwargs
            )

        recorder.run(out, f"clone.streaming.{name}", clone, wave=name == "ref12")
        recorder.run(out, f"clone.whole.{name}", lambda clone=clone: clone(non_streaming_mode=True))
    x_vector = {"ref_audio": (tiny_checkpoint.clip(3.27), 24_000), "x_vector_only_mode": True, **GREEDY}
    for name, text, language, whole in (
        ("xvector.streaming", MIXED, "Chinese", False),
        ("xvector.whole", MIXED, "Chinese", True),
        ("xvector.auto", TEXT, None, False),
    ):

        def from_embedding(text: str = text, language: str | None = language, whole: bool = whole) -> Any:
            return model.generate_voice_clone(text, language=language, non_streaming_mode=whole, **x_vector)

        recorder.run(out, name, from_embedding)
    codec(model, out)


def codec(model: Any, out: dict[str, np.ndarray]) -> None:
    """Fixed random codes through the decoder: past the window of 72, past a piece of 300, and with zeros."""
    random = np.random.default_rng(3)
    for name, frames, keep in (("decode.210", 210, 210), ("decode.330", 330, 12), ("decode.zeros", 16, 16)):
        codes = random.integers(0, tiny_checkpoint.CODEBOOK, (frames, tiny_checkpoint.GROUPS))
        if name == "decode.zeros":
            codes[5, 0] = codes[9, 0] = codes[15, 0] = 0
            codes[12] = 0
        wave = model.model.speech_tokenizer.decode([{"audio_codes": codes}])[0][0]
        out[f"{name}.codes"] = codes.astype(np.int16)
        out[f"{name}.samples"] = np.array(len(wave))
        out[f"{name}.wave"] = packed(wave[-keep * 1920 :])
        print(f"{name}: {len(wave)} samples, peak {np.abs(wave).max():.3f}, rms {wave.std():.4f}")


def design(folder: Path, out: dict[str, np.ndarray]) -> None:
    recorder = Recorder(folder)
    for name, language in (("design.english", "English"), ("design.auto", None)):
        recorder.run(out, name, lambda language=language: recorder.model.generate_voice_design(
            TEXT, DESCRIPTION, language=language, **GREEDY))  # fmt: skip


def custom(folder: Path, out: dict[str, np.ndarray]) -> None:
    recorder = Recorder(folder)
    for name, speaker, language, instruct, text in (
        ("custom.instruct", "vivian", "English", "Very happy.", TEXT),
        ("custom.plain", "Vivian", "Chinese", None, MIXED),
        ("custom.dialect", "eric", "Chinese", None, MIXED),
        ("custom.dialect.auto", "eric", None, None, MIXED),
        ("custom.named-dialect", "vivian", "beijing_dialect", None, MIXED),
    ):
        if name == "custom.named-dialect":  # listed dialects are not among the official names; the ids are there
            recorder.model.model.supported_languages.append(language)
        recorder.run(out, name, lambda s=speaker, g=language, i=instruct, t=text: recorder.model.generate_custom_voice(
            t, s, language=g, instruct=i, **GREEDY), wave=name == "custom.plain")  # fmt: skip


def filters(out: dict[str, np.ndarray]) -> None:
    """transformers' own logits processors, in the order its `generate` applies them, on given logits."""
    import torch
    from transformers import GenerationConfig
    from transformers.generation import GenerationMixin

    random = np.random.default_rng(5)
    logits = (random.standard_normal((2, 3072)) * 3).astype(np.float32)
    logits[:, 100:110] = logits[:, 100:101]  # ties
    suppress = [i for i in range(2048, 3072) if i != tiny_checkpoint.CODEC_EOS]
    for name, generated, settings in (
        ("greedy", 1, {"do_sample": False, "repetition_penalty": 1.05}),
        ("default", 40, {"do_sample": True, "temperature": 0.9, "top_k": 50, "top_p": 1.0, "repetition_penalty": 1.05}),
        ("nucleus", 40, {"do_sample": True, "temperature": 0.7, "top_k": 0, "top_p": 0.8, "repetition_penalty": 1.3}),
        ("narrow", 5, {"do_sample": True, "temperature": 1.3, "top_k": 20, "top_p": 0.5, "repetition_penalty": 1.0}),
    ):
        end = tiny_checkpoint.CODEC_EOS
        config = GenerationConfig(**settings, min_new_tokens=2, suppress_tokens=suppress, eos_token_id=end)
        config._eos_token_tensor = torch.tensor([tiny_checkpoint.CODEC_EOS])
        chain = GenerationMixin._get_logits_processor(_Anything(), config, input_ids_seq_length=0, device="cpu")
        seen = random.integers(0, 2048, (2, generated))
        scores = chain(torch.from_numpy(seen), torch.from_numpy(logits))
        out[f"filters.{name}.seen"] = seen.astype(np.int16)
        out[f"filters.{name}.scores"] = scores.numpy()
        print(f"filters.{name}: {[type(step).__name__ for step in chain]}")


class _Anything:
    """Stands for a model where only the generation configuration is looked at."""

    config = types.SimpleNamespace(is_encoder_decoder=False)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def _merge_criteria_processor_list(self, default: Any, _custom: Any) -> Any:
        return default


def main(target: Path) -> None:
    stub_missing()
    out: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory() as folder:
        built = tiny_checkpoint.build_all(Path(folder))
        for kind, record in (("base", base), ("design", design), ("custom", custom)):
            out[f"digest.{kind}"] = np.frombuffer(bytes.fromhex(tiny_checkpoint.digest(built[kind])), np.uint8)
            record(built[kind], out)
    filters(out)
    names = ("qwen-tts", "torch", "transformers", "tokenizers", "librosa", "numpy")
    versions = {"python": platform.python_version(), "machine": platform.machine()} | {n: version(n) for n in names}
    out["versions"] = np.frombuffer(json.dumps(versions).encode(), np.uint8)
    np.savez_compressed(target, **out)
    print(f"{target}: {target.stat().st_size / 1e6:.2f} MB, made by {versions}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
