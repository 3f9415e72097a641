"""One file over a connection that breaks: what came is kept, what changed is fetched anew."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from langdu.errors import NetworkError
from langdu.models.download import download
from langdu.models.store import Progress
from tests.models.server import Server

DATA = bytes(range(256)) * 4096  # 1 MiB


@pytest.fixture
def served(server: Server) -> Server:
    server.content["/f"] = DATA
    return server


def test_a_file_comes_whole_with_its_hash(served: Server, tmp_path: Path) -> None:
    assert download(f"{served.url}/f", tmp_path / "f") == hashlib.sha256(DATA).hexdigest()
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_bytes() == DATA


def test_a_broken_connection_is_resumed_where_it_broke(served: Server, tmp_path: Path) -> None:
    served.cut = 300_000
    download(f"{served.url}/f", tmp_path / "f", back_off_s=0)
    assert (tmp_path / "f").read_bytes() == DATA
    ranges = served.gets("/f")
    assert ranges[0] == "" and len(ranges) >= 4
    assert all(wanted.startswith("bytes=") for wanted in ranges[1:])


def test_a_later_run_goes_on_with_the_part_of_an_earlier_one(served: Server, tmp_path: Path) -> None:
    served.cut = 0
    (tmp_path / "f.part").write_bytes(DATA[:500_000])
    (tmp_path / "f.etag").write_text(served.etag("/f"))
    with pytest.raises(NetworkError):
        download(f"{served.url}/f", tmp_path / "f", tries=1)
    served.cut = None
    download(f"{served.url}/f", tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == DATA
    assert served.gets("/f")[-1] == "bytes=500000-"


def test_a_server_that_ignores_range_makes_it_start_over(served: Server, tmp_path: Path) -> None:
    served.ranges = False
    (tmp_path / "f.part").write_bytes(b"x" * 500_000)
    (tmp_path / "f.etag").write_text(served.etag("/f"))
    download(f"{served.url}/f", tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == DATA


@pytest.mark.parametrize("if_range", [True, False], ids=["If-Range honoured", "If-Range ignored"])
def test_another_etag_makes_it_start_over(served: Server, tmp_path: Path, if_range: bool) -> None:
    served.if_range = if_range
    (tmp_path / "f.part").write_bytes(b"x" * 500_000)
    (tmp_path / "f.etag").write_text('"of yesterday"')
    download(f"{served.url}/f", tmp_path / "f", back_off_s=0)
    assert (tmp_path / "f").read_bytes() == DATA


def test_a_part_without_its_etag_is_not_trusted(served: Server, tmp_path: Path) -> None:
    served.etags["/f"] = ""
    (tmp_path / "f.part").write_bytes(b"x" * 500_000)
    download(f"{served.url}/f", tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == DATA


def test_a_part_longer_than_the_file_is_dropped(served: Server, tmp_path: Path) -> None:
    (tmp_path / "f.part").write_bytes(DATA + b"x")
    (tmp_path / "f.etag").write_text(served.etag("/f"))
    download(f"{served.url}/f", tmp_path / "f", back_off_s=0)
    assert (tmp_path / "f").read_bytes() == DATA


def test_a_part_that_is_the_whole_file_is_taken_without_asking(served: Server, tmp_path: Path) -> None:
    (tmp_path / "f.part").write_bytes(DATA)
    download(f"{served.url}/f", tmp_path / "f", size=len(DATA))
    assert served.asked == []


def test_a_server_that_is_busy_is_asked_again(served: Server, tmp_path: Path) -> None:
    served.status = [503, 429]
    download(f"{served.url}/f", tmp_path / "f", back_off_s=0)
    assert (tmp_path / "f").read_bytes() == DATA


def test_a_file_that_is_not_there_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="answers 404"):
        download(f"{server.url}/f", tmp_path / "f")
    assert len(server.asked) == 1


def test_tries_without_any_progress_come_to_an_end(served: Server, tmp_path: Path) -> None:
    served.cut = 0
    with pytest.raises(NetworkError, match="3 times in a row"):
        download(f"{served.url}/f", tmp_path / "f", tries=3, back_off_s=0)
    assert len(served.asked) == 3


def test_progress_counts_bytes_up_to_the_whole(served: Server, tmp_path: Path) -> None:
    seen: list[Progress] = []
    served.cut = 600_000
    download(f"{served.url}/f", tmp_path / "f", report=seen.append, back_off_s=0)
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert (seen[-1].file, seen[-1].done, seen[-1].total) == ("f", len(DATA), len(DATA))


def test_a_disk_that_is_full_keeps_what_came(served: Server, tmp_path: Path) -> None:
    """A file size limit stands for the full disk: the system refuses the write in the middle of a file."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            download(f"{served.url}/f", tmp_path / "f")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    kept = (tmp_path / "f.part").read_bytes()
    assert kept == DATA[: len(kept)] and len(kept) > 200_000
    assert not os.path.lexists(tmp_path / "f")
