"""Documents that come over HTTP and mean harm, or are merely broken."""

import io
import zipfile
from pathlib import Path

import httpx
import pytest

from .conftest import Running

MIB = 1 << 20


def archive(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as found:
        for name, data in files.items():
            found.writestr(name.replace("__", "/"), data)
    return made.getvalue()


EPUB = {"mimetype": b"application/epub+zip", "META-INF__container.xml": b"<x/>"}
ENTITIES = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">]><x>&b;</x>'
HARMFUL = {
    "a DOCX that unpacks to 200 MB": ("x.docx", archive(**{"word__document.xml": bytes(200 * MIB)})),
    "an EPUB that unpacks to 200 MB": ("x.epub", archive(**EPUB, **{"a.xhtml": bytes(200 * MIB)})),
    "an EPUB in an EPUB": ("x.epub", archive(**EPUB, **{"a.epub": archive(**EPUB)})),
    "an archive with a path out of it": ("x.epub", archive(**EPUB, **{"..__..__evil.xhtml": b"<p>hi</p>"})),
    "entities": ("x.docx", archive(**{"word__document.xml": ENTITIES})),
    "an archive cut short": ("x.epub", archive(**EPUB)[:60]),
    "nothing": ("x.txt", b""),
    "a PDF that is none": ("x.pdf", b"%PDF-1.7\n%%EOF"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HARMFUL)
def test_it_is_refused_and_leaves_nothing(client: httpx.Client, service: Running, kind: str) -> None:
    folder: Path = service.app.state.jobs.folder
    before = sorted((folder / "jobs").glob("*"))
    name, data = HARMFUL[kind]
    answer = client.post("/v1/jobs/document", files={"file": (name, data)}, data={"voice": "tone"})
    assert answer.status_code == 400, answer.text
    assert "Traceback" not in answer.text and str(folder) not in answer.text
    assert sorted((folder / "jobs").glob("*")) == before
    assert not list(folder.parent.glob("evil*"))


def test_a_document_that_names_addresses_and_files_fetches_none(client: httpx.Client) -> None:
    page = b'<html><body><img src="http://127.0.0.1:1/x"><p>\xe4\xbd\xa0\xe5\xa5\xbd\xe3\x80\x82</p></body></html>'
    answer = client.post(
        "/v1/jobs/document", files={"file": ("x.html", page)}, data={"voice": "tone", "verify": "false"}
    )
    assert answer.status_code == 201
