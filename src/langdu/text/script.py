"""From a document to a `Script`: cleaned, cut into sentences, each as it will be said."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import regex

from langdu.errors import TextError
from langdu.text import markup, normalize, pronunciation, segment, ssml
from langdu.text.clean import EmojiPolicy, clean, paragraphs
from langdu.text.language import language_of
from langdu.text.lexicon import Lexicon
from langdu.text.model import Change, Document, Language, Origin, Paragraph, Script, Section, TextWarning, Utterance


@dataclass(frozen=True, slots=True)
class ScriptOptions:
    """Policies and pauses (seconds). Defaults are those of the settings."""

    emoji: EmojiPolicy = "drop"
    url: normalize.UrlPolicy = "domain"
    email: normalize.EmailPolicy = "read"
    table: Literal["read", "word", "skip"] = "read"
    code: Literal["skip", "word", "read"] = "skip"
    pause_sentence_s: float = 0.25
    pause_paragraph_s: float = 0.35
    pause_heading_s: float = 0.6
    pause_chapter_s: float = 1.2
    lexicon: Lexicon = field(default_factory=Lexicon)
    read_titles: bool = True
    """Whether chapter titles are spoken."""
    dialogue: bool = False
    """Whether `name: text` at the start of a paragraph names the speaker."""
    speakers: Collection[str] | None = None
    """Who may be named so; None: anyone."""
    words_of: Callable[[str | None], Mapping[str, str]] | None = None
    """The lexicon of a voice by its name (None: of the default voice); its words go before those of `lexicon`."""

    @staticmethod
    def from_settings() -> ScriptOptions:
        """Policies and pauses as the user set them."""
        from langdu.settings import settings

        chosen = settings()
        policies: dict[str, Any] = {
            name: getattr(chosen, f"say_{name}") for name in ("emoji", "url", "email", "table", "code")
        }
        return ScriptOptions(
            **policies, pause_sentence_s=chosen.pause_sentence_s, pause_paragraph_s=chosen.pause_paragraph_s
        )


def make_script(
    source: str | Document,
    *,
    voice: str | None = None,
    language: Language | None = None,
    default: Language | None = None,
    options: ScriptOptions | None = None,
) -> Script:
    """Everything `source` says, in order. Raises TextError when there is nothing to say.

    `language` is that of every sentence; without it each has its own, and one that does not show it (digits
    alone) that of its surroundings, or `default`.
    """
    document = source if isinstance(source, Document) else plain(source)
    maker = _Maker(document, voice, language, default, options or ScriptOptions())
    for section in document.sections:
        if section.kind == "body":
            maker.section(section)
    script = maker.script()
    if not script.utterances:
        raise TextError("There is nothing to say in this text.", hint="Give a text with at least one letter or digit.")
    return script


MARKDOWN = regex.compile(
    r"^#{1,6} \S|^```|\*\*\S(?:.*\S)?\*\*|\[[^\[\]\n]+\]\((?:https?:|/|#)[^)\s]*\)|^\|?[ :]*-{3,}[ :]*\|"
    r"|</?(?:b|i|u|em|strong|p|br|div|span|a|h[1-6]|ul|ol|li|code|pre)(?:\s[^<>]*)?/?>",
    regex.MULTILINE,
)


def plain(text: str) -> Document:
    """A document of one untitled section, from text that may be SSML or Markdown (as chat models write it)."""
    if ssml.looks_like(text):
        return replace(plain_paragraphs(ssml.to_marks(text)), text=text)
    if MARKDOWN.search(text):
        from langdu.text.readers import html

        document = html.read_markdown(clean(text, emoji="keep")[0], "")
        return replace(document, sections=html.one_section(document.sections), text=text)
    return replace(plain_paragraphs(text), text=text)


def plain_paragraphs(text: str) -> Document:
    lines = paragraphs(clean(text, emoji="keep")[0])
    found = [Paragraph(p, Origin(paragraph=at, end=len(p))) for at, p in enumerate(lines)]
    return Document(sections=(Section("", tuple(found)),))


HAN_GAP = regex.compile(r"(?<=[\p{Han}，。！？；、：]) +(?=\p{Han})|(?<=\p{Han}) +(?=[，。！？；、：])")
"""A space between Han characters is layout, not speech."""


OMITTED = {
    "code": {"zh": "此处有一段代码。", "en": "A piece of code.", "ja": "ここにコードがあります。"},
    "table": {"zh": "此处有一张表格。", "en": "A table.", "ja": "ここに表があります。"},
}


class _Maker:
    def __init__(
        self, document: Document, voice: str | None, language: Language | None, default: Language | None,
        options: ScriptOptions,
    ) -> None:  # fmt: skip
        self._document, self._voice, self._options = document, voice, options
        self._language: Language | None = language or document.language or default
        self._forced = language
        self._utterances: list[Utterance] = []
        self._chapters: list[str] = []
        self._changes: list[Change] = []
        self._warnings: list[TextWarning] = []
        self._paragraph = 0
        self._marked_voice: str | None = None
        self._warned: set[str] = set()
        self._lexicons: dict[str | None, Lexicon] = {}
        self._cursor = 0
        self._line = 1

    def section(self, section: Section) -> None:
        self._chapters.append(section.title)
        self._paragraph = 0
        before = len(self._utterances)
        title = section.title.strip()
        opens_with_title = bool(section.paragraphs) and section.paragraphs[0].text.strip() == title
        if title and self._options.read_titles and not opens_with_title:
            self._say(Paragraph(title, section.paragraphs[0].origin if section.paragraphs else Origin(), "heading"))
        kind = None
        for paragraph in section.paragraphs:
            if paragraph.kind in ("code", "table"):
                self._block(paragraph, again=paragraph.kind == kind)
            else:
                self._say(paragraph)
            kind = paragraph.kind
        if len(self._utterances) > before:
            self._pause(self._options.pause_chapter_s)
        else:
            self._chapters.pop()  # a chapter without a word is no chapter

    def _block(self, paragraph: Paragraph, *, again: bool) -> None:
        """A code block or a row of a table, by its policy. `again`: it goes on with what came before."""
        kind = paragraph.kind
        policy = self._options.code if kind == "code" else self._options.table
        if policy == "read":
            self._say(paragraph)
            return
        around: Language = self._language or "zh"  # code is in no language of the listener's
        language = around if kind == "code" else language_of(paragraph.text, around)
        word = "" if policy == "skip" or again else OMITTED[kind][language]
        self._changes.append(Change(kind, paragraph.text, word))
        if word:
            self._say(replace(paragraph, text=word, kind="text"))

    def _say(self, paragraph: Paragraph) -> None:
        language = language_of(paragraph.text, self._language or "zh")
        text, changes = clean(paragraph.text, emoji=self._options.emoji, language=language)
        self._changes.extend(changes)
        text = regex.sub(r"\s+", " ", text).strip()
        said = 0
        options = self._options
        for span in markup.parse(text, voice=self._marked_voice, dialogue=options.dialogue, speakers=options.speakers):
            if span.warning and span.once and span.warning in self._warned:
                continue
            if span.warning:
                self._warned.add(span.warning)
                self._warnings.append(self._warning(span.warning, span.mark, paragraph))
            elif not span.text and not span.pause_s:
                self._marked_voice = span.voice
            if span.text:
                said += self._sentences(span, paragraph)
            if span.pause_s and self._utterances:
                self._pause(span.pause_s, add=True)
        if said:
            heading = paragraph.kind == "heading"
            self._pause(self._options.pause_heading_s if heading else self._options.pause_paragraph_s)
            self._paragraph += 1

    def _sentences(self, span: markup.Span, paragraph: Paragraph) -> int:
        before = len(self._utterances)
        at = 0
        for source in segment.sentences(span.text):
            start, at = at, at + len(source)
            if not segment.sayable(source):
                continue
            language = self._forced or language_of(pronunciation.plain(source), self._language or "zh")
            self._language = language
            spoken = self._spoken(
                source.strip(), language, paragraph, spell=span.spell, voice=span.voice or self._voice
            )
            if not segment.sayable(spoken):
                continue
            origin = paragraph.origin
            place = Origin(
                origin.file, origin.section, origin.paragraph, origin.start + start, origin.start + at, origin.page
            )
            self._utterances.append(Utterance(
                source.strip(), spoken, language, len(self._chapters) - 1, self._paragraph,
                span.voice or self._voice, self._options.pause_sentence_s, place, span.emphasis,
            ))  # fmt: skip
        return len(self._utterances) - before

    def _lexicon(self, voice: str | None) -> Lexicon:
        if voice not in self._lexicons:
            own = self._options.words_of(voice) if self._options.words_of is not None else {}
            self._lexicons[voice] = self._options.lexicon.merged(own)
        return self._lexicons[voice]

    def _spoken(self, source: str, language: Language, paragraph: Paragraph, *, spell: bool, voice: str | None) -> str:
        if spell:
            return " ".join(source)
        text, changes = self._lexicon(voice).apply(source)
        self._changes.extend(changes)
        spoken, changes = normalize.spoken(text, language, url=self._options.url, email=self._options.email)
        self._changes.extend(changes)
        for run in (change.before for change in changes if change.rule == "unsayable run"):
            self._warnings.append(
                self._warning(f"{len(run)} characters without a space are left out: {run[:24]}…", run, paragraph)
            )
        spoken = regex.sub(" {2,}", " ", HAN_GAP.sub("", spoken))
        if language == "en" or spoken[-1:].isascii():
            spoken += " " if not spoken.endswith(" ") else ""
        return spoken

    def _warning(self, message: str, what: str, paragraph: Paragraph) -> TextWarning:
        """With the place of `what` in the text, or else the paragraph it is in."""
        text = self._document.text
        at = text.find(what, self._cursor)
        if at < 0:
            origin = paragraph.origin
            where = f"page {origin.page}" if origin.page else f"section {origin.section + 1}"
            return TextWarning(f"{message} ({where}, paragraph {origin.paragraph + 1})")
        self._line += text.count("\n", self._cursor, at)
        self._cursor = at
        found = TextWarning(message, self._line, at - text.rfind("\n", 0, at))
        self._cursor = at + len(what)
        self._line += what.count("\n")
        return found

    def _pause(self, seconds: float, *, add: bool = False) -> None:
        last = self._utterances[-1]
        pause = last.pause_after_s + seconds if add else max(last.pause_after_s, seconds)
        self._utterances[-1] = replace(last, pause_after_s=pause)

    def script(self) -> Script:
        if self._utterances:
            self._utterances[-1] = replace(self._utterances[-1], pause_after_s=0.0)
        return Script(
            tuple(self._utterances), tuple(self._chapters) or ("",), self._document.title, self._document.author,
            tuple(self._changes), tuple(self._warnings), self._document.cover,
        )  # fmt: skip
