"""English words inside Mandarin: how many a listener hears, routed by script against the Mandarin rules alone.

    python benchmarks/mixed.py

Ten sentences, ten English words, voice zf_xiaobei, heard by whisper-base. "alone" sends the whole sentence,
Latin letters and all, through misaki's Mandarin rules, as the library does without an English callable.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from langdu.engines.base import Audio, Request
from langdu.engines.kokoro.engine import KokoroEngine
from langdu.engines.kokoro.vocabulary import VOCABULARY
from langdu.models.store import model_dir
from langdu.quality.compare import compare
from langdu.quality.transcript import Checker
from langdu.text.script import make_script
from langdu.voices.persona import BuiltinPersona

SENTENCES = (
    ("这部新的iPhone拍照非常清楚。", "iphone"),
    ("你可以在Google上面找到答案。", "google"),
    ("这个周末我们一起去看NBA的比赛吧。", "nba"),
    ("周末他们常去KTV唱歌。", "ktv"),
    ("我们公司的CEO明天要来上海。", "ceo"),
    ("科学家正在研究人类的DNA。", "dna"),
    ("他用Python写了一个小程序。", "python"),
    ("请打开Windows系统的设置页面。", "windows"),
    ("我把文件放到了GitHub上面。", "github"),
    ("这首歌在YouTube上很受欢迎。", "youtube"),
)


def joined(engine: KokoroEngine, phonemes: str, voice: str) -> Audio:
    return engine._run("".join(p for p in phonemes if p in VOCABULARY), voice, 1.0)


def main() -> None:
    from misaki.zh import ZHG2P

    engine = KokoroEngine(model_dir("kokoro"), threads=2)
    voice = engine.prepare(BuiltinPersona(name="v", voice="zf_xiaobei"))
    checker, alone = Checker(), ZHG2P()
    totals: dict[str, list[tuple[float, bool]]] = {"routed": [], "alone": []}
    for text, word in SENTENCES:
        spoken = make_script(text).utterances[0].spoken
        [event] = engine.speak([Request("1", spoken, "zh", voice.key)])
        sounds: dict[str, Any] = {"routed": getattr(event, "audio", np.zeros(0, np.float32))}
        sounds["alone"] = joined(engine, alone(text)[0], "zf_xiaobei")
        for name, audio in sounds.items():
            heard = checker.hear(audio, 24000, "zh").text
            found = word in re.sub(r"[^a-z]", "", heard.casefold())
            totals[name].append((compare(text, heard, "zh").cer, found))
            print(f"{name:7} {'heard' if found else '  -  '} {heard}")
    for name, rows in totals.items():
        print(
            f"{name}: CER {np.mean([cer for cer, _ in rows]):.3f}, {sum(found for _, found in rows)} of 10 words heard"
        )


if __name__ == "__main__":
    main()
