"""Small real documents, written by hand so that a test shows what is in them."""

from __future__ import annotations

import io
import zipfile

CONTAINER = (
    '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def epub(pages: dict[str, str], *, toc: dict[str, str], title: str = "书", author: str = "作者") -> bytes:
    """An EPUB 2 whose spine is `pages` (file name to body); `toc` names some of them."""
    items = "".join(f'<item id="{n}" href="{n}" media-type="application/xhtml+xml"/>' for n in pages)
    spine = "".join(f'<itemref idref="{n}"/>' for n in pages)
    opf = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="2.0" unique-identifier="i">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:identifier id="i">x</dc:identifier><dc:title>{title}</dc:title><dc:creator>{author}</dc:creator>'
        f"<dc:language>zh-CN</dc:language></metadata><manifest>{items}"
        f'<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>'
        f'<spine toc="ncx">{spine}</spine></package>'
    )
    points = "".join(
        f'<navPoint id="n{at}" playOrder="{at}"><navLabel><text>{label}</text></navLabel><content src="{n}"/></navPoint>'
        for at, (n, label) in enumerate(toc.items())
    )
    ncx = (
        '<?xml version="1.0"?><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"><head/>'
        f"<docTitle><text>x</text></docTitle><navMap>{points}</navMap></ncx>"
    )
    files = {"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": opf, "OEBPS/toc.ncx": ncx}
    for name, body in pages.items():
        files[f"OEBPS/{name}"] = (
            '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" '
            f'xmlns:epub="http://www.idpf.org/2007/ops"><head><title>x</title></head><body>{body}</body></html>'
        )
    return archive(files)


def archive(files: dict[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", "application/epub+zip")
        for name, content in files.items():
            file.writestr(name, content)
    return out.getvalue()


def pdf(pages: list[list[str]]) -> bytes:
    """A PDF with the given lines (ASCII) on each page."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        shown = "".join(f"({line}) Tj T* " for line in (x.replace("(", r"\(").replace(")", r"\)") for x in lines))
        stream = f"BT /F1 12 Tf 14 TL 50 750 Td {shown}ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    return (
        out + f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out) - len(table)}\n%%EOF"
    ).encode()
