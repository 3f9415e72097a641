"""Plans: numbering, keys, caps, and sharing work between workers."""

from __future__ import annotations

import dataclasses

from langdu.engines.base import EngineInfo
from langdu.synthesis.plan import engine_cap, even_cap, longest_first, make_plan
from langdu.text.script import make_script
from langdu.voices.persona import BuiltinPersona

INFO = EngineInfo("kokoro", "kokoro", "r1", "int8", "cpu", 24000)
PERSONA = BuiltinPersona(name="a", voice="zf_xiaobei")


def plan_of(text: str, cap: int = 160, info: EngineInfo | None = INFO, persona: BuiltinPersona = PERSONA):  # type: ignore[no-untyped-def]
    return make_plan(make_script(text), lambda name: persona, info, cap=cap)


def test_chunks_are_numbered_within_the_plan() -> None:
    plan = plan_of("第一句话在这里。第二句话在那里。" * 20)
    assert [chunk.index for chunk in plan.chunks] == list(range(len(plan.chunks)))
    assert plan.chunks[0].name == "1.1"


def test_the_key_is_of_what_decides_the_sound_and_of_nothing_else() -> None:
    key = plan_of("你好，世界。").chunks[0].key
    assert key == plan_of("你好，世界。").chunks[0].key
    assert key == plan_of("你好，世界。", persona=BuiltinPersona(name="other name", voice="zf_xiaobei")).chunks[0].key
    assert key != plan_of("你好，世间。").chunks[0].key
    assert key != plan_of("你好，世界。", persona=BuiltinPersona(name="a", voice="zf_xiaoni")).chunks[0].key
    assert key != plan_of("你好，世界。", info=dataclasses.replace(INFO, revision="r2")).chunks[0].key
    assert key != plan_of("你好，世界。", info=dataclasses.replace(INFO, precision="float32")).chunks[0].key
    assert key == plan_of("你好，世界。", info=dataclasses.replace(INFO, device="other")).chunks[0].key


def test_a_paragraph_ends_with_the_longer_pause() -> None:
    plan = plan_of("第一段。\n\n第二段。\n\n第三段。")
    assert [chunk.pause_after_s for chunk in plan.chunks] == [0.35, 0.35, 0.15]


def test_kokoro_takes_shorter_chunks_of_mandarin() -> None:
    assert engine_cap("kokoro", "zh", 160) == 120
    assert engine_cap("kokoro", "zh", 80) == 80
    assert engine_cap("qwen3", "zh", 160) == 160


def test_the_cap_is_chosen_so_that_workers_finish_together() -> None:
    script = make_script("这一句话正好有十二个字。" * 27)
    cap = even_cap(script, 120, 2)
    plan = make_plan(script, lambda name: PERSONA, None, cap=cap)
    assert len(plan.chunks) % 2 == 0


def test_longest_first() -> None:
    plan = plan_of("短。\n\n这一句话要长得多，长得多。")
    assert [chunk.index for chunk in longest_first(plan.chunks)] == [1, 0]
