"""Every format: written whole or not at all, with the length, the tags and the chapters it was given."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import av
import numpy as np
import pytest

from langdu.audio.av_encode import Mark, Tags
from langdu.audio.encode import StreamEncoder, Writer, write
from langdu.audio.read import blocks_of, read
from langdu.errors import OutputError

RATE = 24_000
SOUND = (0.3 * np.sin(np.arange(3 * RATE) * 0.05)).astype(np.float32)


def png() -> bytes:
    def part(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + b"\x20\x40\x80" * 8 for _ in range(8))
    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")


@pytest.mark.parametrize("suffix", ["wav", "flac", "mp3", "ogg", "opus", "m4a", "m4b", "aac"])
def test_what_was_written_is_as_long_and_as_loud(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"声音.{suffix}"
    write(target, np.array_split(SOUND, 7), RATE)
    audio, rate = read(target)
    assert len(audio) / rate == pytest.approx(3.0, abs=0.1)
    assert np.sqrt(np.mean(audio**2)) == pytest.approx(np.sqrt(np.mean(SOUND**2)), rel=0.05)
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize("suffix", ["mp3", "flac", "opus", "m4b"])
def test_blocks_of_a_file_are_the_file(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"a.{suffix}"
    write(target, [SOUND], RATE)
    assert sum(len(block) / rate for block, rate in blocks_of(target)) == pytest.approx(3.0, abs=0.1)


@pytest.mark.parametrize("name", ["wav", "mp3"])
def test_a_stream_of_three_chunks_has_one_header_and_the_sum_of_lengths(tmp_path: Path, name: str) -> None:
    encoder = StreamEncoder(name, RATE)
    data = b"".join([*(encoder.encode(SOUND) for _ in range(3)), encoder.finish()])
    assert data.count(b"RIFF") == (1 if name == "wav" else 0)
    (tmp_path / "a").write_bytes(data)
    audio, rate = read(tmp_path / "a")
    assert len(audio) / rate == pytest.approx(9.0, abs=0.1)


def test_chapters_and_titles_survive_whatever_is_in_them(tmp_path: Path) -> None:
    odd = "一 = ; # \\ \n 二"
    with Writer(tmp_path / "a.m4b", RATE, tags=Tags("书=;#\\", "作者", cover=png())) as writer:
        writer.write(SOUND)
        writer.chapters = [Mark(odd, 0.0, 1.5), Mark("empty", 1.5, 1.5), Mark("末", 1.5, 3.0)]
    with av.open(str(tmp_path / "a.m4b")) as file:
        assert file.metadata["title"] == "书=;#\\"
        assert file.metadata["artist"] == "作者"
        found = [(c["metadata"]["title"], c["start"], c["end"]) for c in file.chapters()]
        assert found == [(odd, 0, 1500), ("末", 1500, 3000)]
        assert any(stream.type == "video" for stream in file.streams)


@pytest.mark.parametrize("suffix", ["mp3", "flac", "opus"])
def test_tags_are_read_back(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"a.{suffix}"
    with Writer(target, RATE, tags=Tags("第一\n章", "作者", "书", "1/12", png())) as writer:
        writer.write(SOUND)
    with av.open(str(target)) as file:
        found = {key.lower(): value for key, value in {**file.metadata, **file.streams.audio[0].metadata}.items()}
    assert found["title"] == "第一 章"
    assert found["artist"] == "作者"
    assert found["track"].startswith("1")


def test_an_mp3_has_the_bit_rate_it_was_asked_for(tmp_path: Path) -> None:
    with Writer(tmp_path / "a.mp3", 44_100, bit_rate=192_000) as writer:
        writer.write(np.tile(SOUND, 5))
    with av.open(str(tmp_path / "a.mp3")) as file:
        assert file.streams.audio[0].bit_rate == 192_000


def test_an_error_half_way_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), Writer(tmp_path / "a.m4b", RATE) as writer:
        writer.write(SOUND)
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("target", "message"),
    [("a.xyz", "no known suffix"), ("gone/a.wav", "does not exist"), ("folder.wav", "is a folder")],
)
def test_targets_that_cannot_be_are_refused(tmp_path: Path, target: str, message: str) -> None:
    (tmp_path / "folder.wav").mkdir()
    with pytest.raises(OutputError, match=message):
        write(tmp_path / target, [SOUND], RATE)


def test_a_file_is_kept_when_not_to_be_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(b"mine")
    with pytest.raises(OutputError, match="exists"), Writer(tmp_path / "a.wav", RATE, overwrite=False):
        pass
    assert (tmp_path / "a.wav").read_bytes() == b"mine"
