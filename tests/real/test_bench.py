"""The built-in voice, measured and heard."""

from __future__ import annotations

import json

import pytest
from tests.conftest import Run

pytestmark = pytest.mark.real


def test_short_is_timed_heard_and_passes(langdu: Run, tmp_path):
    out = tmp_path / "a.json"
    done = langdu("bench", "--suite", "short", "--engine", "kokoro", "--repeats", "2", "--no-keep", "-o", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads(out.read_text())
    (row,) = facts["rows"]
    assert row["passed"] is True
    assert row["figures"]["sound_error"]["median"] < 0.25
    assert 4 < row["figures"]["audio_s"]["median"] < 12
    assert row["figures"]["rtf"]["median"] > 0
    target = facts["targets"]["kokoro zf_xiaobei"]
    assert target["size_mb"] == pytest.approx(113.8, abs=1)
    assert len(target["files"]["kokoro-v1.0.int8.onnx"]["sha256"]) == 64
