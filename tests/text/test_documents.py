"""Every kind of document, as its reader would read it aloud."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from langdu.errors import DocumentError, TextError
from langdu.text.documents import read_document, sniff
from langdu.text.model import Document
from tests.text import makers


def texts(document: Document) -> list[list[str]]:
    return [[p.text for p in s.paragraphs] for s in document.sections]


def titles(document: Document) -> list[str]:
    return [s.title for s in document.sections]


CHINESE = "第一章 开始\n\n今天的天气很好，我们决定去公园散步。\n\n第二章\n他说这是不可能的事情。\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_text_in_common_encodings_with_chapters(encoding: str) -> None:
    document = read_document(CHINESE.encode(encoding), "a.txt")
    assert titles(document) == ["第一章 开始", "第二章"]
    assert texts(document) == [["今天的天气很好，我们决定去公园散步。"], ["他说这是不可能的事情。"]]
    assert document.encoding == encoding.removesuffix("-sig")
    assert bool(document.notes) == (encoding in ("gb18030", "utf-16"))


def test_big5_text_is_detected() -> None:
    traditional = "今天的天氣很好，我們決定去公園散步。這是一個測試，請讀給我聽。" * 8
    assert texts(read_document(traditional.encode("big5"), "a.txt")) == [[traditional]]


def test_hard_wraps_and_hyphenation_are_undone() -> None:
    text = (
        "This sentence was\r\nwrapped by a PDF ex-\r\ntractor. And this one\r\nis fine.\r\n\r\n这一行在中\r\n间断开了。"
    )
    assert texts(read_document(text.encode(), "a.txt")) == [
        ["This sentence was wrapped by a PDF extractor. And this one is fine.", "这一行在中间断开了。"]
    ]


MARKDOWN = "# 标题\n\n**重点**：见 [文档](https://example.com) 👍🏽\n\n| 名 | 值 |\n|---|---|\n| a | 1 |\n\n```py\nprint(1)\n```\n"


def test_markdown_keeps_words_and_marks_code_and_tables() -> None:
    document = read_document(MARKDOWN.encode(), "a.md")
    assert titles(document) == ["标题"]
    kinds = [(p.text.strip(), p.kind) for p in document.sections[0].paragraphs]
    assert kinds == [("重点：见 文档 👍🏽", "text"), ("名，值。", "table"), ("a, 1.", "table"), ("print(1)", "code")]


def test_html_gives_the_main_text_not_the_menu() -> None:
    page = (
        "<!doctype html><html lang=en><head><title>News  today</title><script>x()</script></head><body>"
        "<nav>Home About</nav><div class=sidebar>Buy!</div><main><h1>Rain</h1><p>It rained\n all <b>day</b> in "
        "the north.<sup><a href=#n1>1</a></sup></p></main><footer>(c)</footer></body></html>"
    )
    document = read_document(page.encode(), "x.html")
    assert (document.title, document.language) == ("News today", "en")
    assert titles(document) == ["Rain"] and texts(document) == [["It rained all day in the north."]]


def test_epub_in_spine_order_with_titles_and_without_notes() -> None:
    note = '<aside epub:type="footnote">注解</aside>'
    data = makers.epub(
        {
            "c.xhtml": "<p>版权所有 ISBN 9787000000000 all rights reserved</p>",
            "toc.xhtml": "<h1>目录</h1><p>第一章</p>",
            "2.xhtml": f'<h1>起</h1><p>他来了<a epub:type="noteref" href="#n">1</a>。</p>{note}',
            "1.xhtml": "<p>她走了。</p>",
        },
        toc={"2.xhtml": "第一章 起", "1.xhtml": "第二章"},
    )
    document = read_document(data, "b.epub")
    assert (document.title, document.author, document.language) == ("书", "作者", "zh")
    read = [s for s in document.sections if s.kind == "body"]
    assert [s.title for s in read] == ["第一章 起", "第二章"]
    assert [[p.text for p in s.paragraphs if p.kind != "heading"] for s in read] == [["他来了。"], ["她走了。"]]
    assert [s.kind for s in document.sections if s.kind != "body"] == ["copyright", "contents"]
    assert document.notes == ("b.epub: not read: copyright, 目录",)
    assert read[0].paragraphs[0].origin.file == "b.epub#2.xhtml"


def test_pdf_without_headers_footers_hyphens_and_wraps() -> None:
    weather = ("stormy", "rainy", "windy")
    pages = [
        ["My Book", f"It was a long and {word} night and the water came down with-", f"out a {word} end.", f"{number}"]
        for number, word in enumerate(weather, 1)
    ]
    document = read_document(makers.pdf(pages), "b.pdf")
    sentence = "It was a long and {} night and the water came down without a {} end."
    assert texts(document) == [[sentence.format(word, word) for word in weather]]
    assert [p.origin.page for p in document.sections[0].paragraphs] == [1, 2, 3]


def test_pdf_of_pictures_says_so() -> None:
    with pytest.raises(DocumentError, match="no text"):
        read_document(makers.pdf([[]]), "scan.pdf")


def test_docx_headings_and_tables() -> None:
    import docx

    file = docx.Document()
    file.add_heading("第一章", 1)
    file.add_paragraph("他来了。")
    table = file.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "名", "值"
    file.core_properties.author = "作者"
    out = io.BytesIO()
    file.save(out)
    document = read_document(out.getvalue(), "a.docx")
    assert (document.author, titles(document), texts(document)) == ("作者", ["第一章"], [["他来了。", "名，值。"]])


@pytest.mark.parametrize(("head", "name"), [("", "a.srt"), ("WEBVTT\n\n", "a.vtt")])
def test_subtitles_keep_their_times(head: str, name: str) -> None:
    body = "1\n00:00:01,500 --> 00:00:02,000\n<i>你好</i>\n世界\n\n2\n00:01:00.000 --> 00:01:02.250\nHello\nthere\n"
    found = read_document((head + body).encode(), name).sections[0].paragraphs
    assert [(p.text, p.cue) for p in found] == [("你好世界", (1.5, 2.0)), ("Hello there", (60.0, 62.25))]


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (b"", "a.txt", "empty"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\xff\xfe", "a.txt", "not a text file"),
        (b"PK\x03\x04broken", "a.epub", "damaged archive"),
        (b"%PDF-1.4 nothing else", "a.pdf", "damaged|no text"),
        (b"hello", "a.pdf", "no pdf file"),
        (makers.archive({"x": "y"}), "a.zip", "neither EPUB nor DOCX"),
        (makers.archive({"META-INF/container.xml": "<x/>"}), "a.epub", "damaged"),
        (makers.archive({"word/document.xml": b" " * 60_000_000}), "a.docx", "unpacks to"),
        (b"1\n00:00 --> nonsense\nhello", "a.srt", "cue times"),
    ],
)
def test_what_cannot_be_read_is_named(data: bytes, name: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        read_document(data, name)


def test_a_file_of_ssml_is_read_as_such() -> None:
    assert texts(read_document(b"<speak>One.<break time='1s'/>Two.</speak>", "stdin")) == [["One.[pause:1s]Two."]]
    with pytest.raises(TextError, match="line 1"):
        read_document(b"<speak>One.<break></speak>", "a.ssml")


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="is not there"):
        read_document(tmp_path / "none.txt")
    with pytest.raises(DocumentError, match="is a folder"):
        read_document(tmp_path)


def test_the_first_bytes_decide_before_the_name() -> None:
    assert sniff(b"%PDF-1.7", "a.txt") == "pdf"
    assert sniff(b"<!DOCTYPE html><p>", "page") == "html"
    assert sniff(b"WEBVTT\n", "a.txt") == "vtt"


def test_entities_of_an_epub_are_not_expanded() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    data = makers.epub({"1.xhtml": f"{bomb}<p>他来了。&b;</p>"}, toc={})
    assert "aaaaaaaaaa" * 2 not in str(texts(read_document(data, "b.epub")))
