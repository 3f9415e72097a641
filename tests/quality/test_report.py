"""The report page: what is doubtful is there to be seen, read and heard, and nothing is fetched from anywhere."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from langdu.audio.render import Placed
from langdu.engines.base import Audio, EngineInfo
from langdu.quality.report import Report, page, plot, waveform
from langdu.synthesis.model import Chunk
from langdu.voices.persona import BuiltinPersona

SUMMARY = {
    "chunks": 2, "said": 2, "reused": 0, "audio_seconds": 3661.4, "seconds": 100.0, "rtf": 0.5, "lufs": -19.0,
    "true_peak_db": -1.2, "faults": [{}], "inconclusive": 0, "problems": [],
}  # fmt: skip
INFO = EngineInfo("tone", "tone", "1", "float32", "cpu", 24_000)


@dataclass
class Take:
    outcome: str
    verdict: dict[str, Any] | None = None
    state: str = "made"
    attempt: int = 1
    seed: int = 0
    rate_hz: int = 24_000
    audio_seconds: float = 1.0


@dataclass
class Line:
    chunk: Chunk
    kept: Take
    placed: Placed = field(default_factory=lambda: Placed(1.0, 2.0, 0.0, 0.0))
    file: str = "a.m4b"


class Sounds:
    def load(self, kept: Any) -> Audio:
        return np.zeros(2400, np.float32)


def line(number: int, take: Take, text: str = "你好") -> Line:
    return Line(Chunk(number, 0, number + 1, text, "zh", BuiltinPersona(name="旁白", voice="tone"), 0.1), take)


def written(*lines: Line) -> str:
    report = Report("书<名>", ["一"], lines, SUMMARY, [], [INFO])
    return page(report, report.as_dict(), Sounds())


def test_a_doubtful_chunk_has_its_wave_its_texts_its_findings_and_a_play_button() -> None:
    finding = {"name": "wrong words", "level": "fault", "message": "90 % of the sounds"}
    bad = Take("fault", {"findings": [finding], "marked": "你[好→<坏>]", "heard": "你坏", "cer": 0.5})
    text = written(line(0, bad), line(1, Take("pass", {"cer": 0.0})))
    section = re.search(r"<section>.*?</section>", text, re.DOTALL)
    assert section is not None
    assert "written: 你好" in section[0]
    assert "heard: 你<ins>[好→&lt;坏&gt;]</ins>" in section[0]
    assert "wrong words: 90 % of the sounds" in section[0]
    assert "<polygon" in section[0]
    assert '<audio controls preload="none" src="data:audio/ogg;base64,T2dn' in section[0]  # OggS
    assert text.count("<section>") == 1


def test_the_page_needs_nothing_from_outside_and_escapes_what_it_shows() -> None:
    text = written(line(0, Take("fault", {"findings": []}), "<script>alert(1)</script>"))
    assert "<script" not in text
    assert "书&lt;名&gt;" in text
    assert not re.search(r'(src|href)="(?!data:)', text)


def test_unheard_chunks_are_not_called_good() -> None:
    assert "were not checked" in written(line(0, Take("unheard")))
    assert "heard as written" in written(line(0, Take("pass", {})))


def test_a_plot_has_a_dot_for_each_known_figure_with_its_chunk_and_a_mark_for_each_chapter() -> None:
    values = [("1.1", 0.1, "pass"), ("1.2", None, "pass"), ("2.1", 0.4, "fault")]
    chunks = [{"chunk": name, "cer": value, "outcome": outcome} for name, value, outcome in values]
    svg = ET.fromstring(plot(chunks, "cer"))
    assert [title.text for title in svg.iter("title")] == ["1.1: 0.10", "2.1: 0.40"]
    assert [text.text for text in svg.iter("text")] == ["0.40", "0.10", "1", "2"]
    assert [dot.get("class") for dot in svg.iter("circle")] == [None, "bad"]


def test_a_waveform_reaches_as_far_as_its_peaks() -> None:
    audio = np.zeros(4000, np.float32)
    audio[1000], audio[3000] = 1.0, -0.5
    points = re.search(r'points="([^"]+)"', waveform(audio))
    assert points is not None
    heights = [float(point.split(",")[1]) for point in points[1].split()]
    assert (min(heights), max(heights)) == (2.0, 74.0)
