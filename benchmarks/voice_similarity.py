"""Speaker similarity within one built-in voice and between voices: what the thresholds of `voices compare` rest on.

    python benchmarks/voice_similarity.py [voices per language, default 8]

Every voice says three sentences of its language; each pair of sounds is compared. Prints percentiles of the cosine
for pairs of one voice, of two voices of one gender, and of two genders, as one JSON object.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections import defaultdict

import numpy as np

from langdu.quality.speaker import embed, similarity
from langdu.synthesis.say import Saying, SayRequest
from langdu.voices.builtin import BUILTIN

SENTENCES = {
    "zh": (
        "春天来了，窗外的树一天比一天绿。",
        "请在下一个路口左转，然后一直往前走。",
        "这本书讲的是一位老人和大海的故事。",
    ),
    "en": (
        "Spring is here, and the trees outside grow greener every day.",
        "Turn left at the next corner, then walk straight ahead.",
        "This book tells the story of an old man and the sea.",
    ),
}


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    sounds = []
    for language, sentences in SENTENCES.items():
        voices = [voice for voice in BUILTIN.values() if voice.language == language]
        for voice in voices[:: max(1, len(voices) // count)][:count]:
            for sentence in sentences:
                with Saying(SayRequest(sentence, voice.name, workers=1)) as saying:
                    rate_hz = saying.sample_rate_hz()
                    sounds.append((voice, embed(np.concatenate(list(saying.blocks())), rate_hz)))
    groups = defaultdict(list)
    for (one, a), (other, b) in itertools.combinations(sounds, 2):
        if one.language == other.language:
            kind = "one voice" if one == other else "one gender" if one.gender == other.gender else "two genders"
            groups[f"{one.language}, {kind}"].append(similarity(a, b))
    table = {
        name: {"pairs": len(values)} | {f"p{p}": round(float(np.percentile(values, p)), 3) for p in (0, 5, 50, 95, 100)}
        for name, values in sorted(groups.items())
    }
    print(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
