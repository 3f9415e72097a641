"""Characters that are not speech: removed, or turned into what they stand for, before anything else looks."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Literal

import regex

from langdu.text.model import Change, Language

EmojiPolicy = Literal["drop", "read", "name"]

# Format characters (zero width, joiners, bidi marks, BOM, soft hyphen) and controls but tab and newline.
INVISIBLE = regex.compile(r"[\p{Cf}\p{Cc}\p{Cs}\p{Co}\p{Cn}--[\t\n]]+", regex.VERSION1)
INVISIBLE_BUT_JOINERS = regex.compile(r"[\p{Cf}\p{Cc}\p{Cs}\p{Co}\p{Cn}--[\t\n\u200d]]+", regex.VERSION1)
SPACES = regex.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\t]")
# Half-width kana with their marks, and full-width Latin letters and digits: the forms NFKC makes plain without
# changing what is read (it would turn ½ into 1⁄2, ㎏ into kg and ① into 1).
NARROW = regex.compile(r"[\uff65-\uff9f]+|[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff05]+")
EMOJI = regex.compile(
    r"(?:\p{Regional_Indicator}{2}|[#*0-9]\ufe0f?\u20e3"
    r"|\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]*(?:\u200d\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]*)*)"
)
KEEP_PICTOGRAPHS = "©®™"
BOX = regex.compile(r"[\u2500-\u259f\u25a0-\u25ff\u2800-\u28ff]+")


def clean(
    text: str, *, emoji: EmojiPolicy | Literal["keep"] = "drop", language: Language = "zh"
) -> tuple[str, list[Change]]:
    """Text without invisible characters, emoji and box drawing, and what was changed. Keeps newlines.

    "keep" is for readers of documents: emoji and boxes stay, because what is said of them is decided later.
    """
    changes: list[Change] = []

    def note(rule: str, after: str) -> Callable[[regex.Match[str]], str]:
        def replace(match: regex.Match[str]) -> str:
            changes.append(Change(rule, match[0], after))
            return after

        return replace

    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n\n")

    def pictograph(match: regex.Match[str]) -> str:
        if match[0] in KEEP_PICTOGRAPHS:
            return match[0]
        after = "" if emoji == "drop" else f" {_name(match[0], language, announced=emoji == 'name')} "
        changes.append(Change("emoji", match[0], after.strip()))
        return after

    if emoji == "keep":
        text = INVISIBLE_BUT_JOINERS.sub("", text)
        return NARROW.sub(lambda m: unicodedata.normalize("NFKC", m[0]), SPACES.sub(" ", text)), changes
    text = EMOJI.sub(pictograph, text)
    text = INVISIBLE.sub(note("invisible", ""), text)
    text = SPACES.sub(" ", text)
    text = NARROW.sub(lambda m: unicodedata.normalize("NFKC", m[0]), text)
    text = BOX.sub(note("box drawing", " "), text)
    return text, changes


MODIFIERS = regex.compile(r"\p{Emoji_Modifier}")


def _name(pictograph: str, language: Language, *, announced: bool) -> str:
    """Its CLDR short name in `language` ("thumbs up", 拇指向上), whatever its skin tone."""
    try:
        import emoji
    except ImportError:
        from langdu.errors import DependencyError

        hint = 'Run: pip install "langdu[text]", or choose --emoji drop.'
        raise DependencyError("emoji is not installed; it knows the names of emoji.", hint=hint) from None
    base = MODIFIERS.sub("", pictograph)
    named = emoji.demojize(base, language=language, delimiters=("", "")).replace("_", " " if language == "en" else "")
    if named == base:
        named = unicodedata.name(base[0], "emoji").lower()
    return {"zh": f"表情{named}", "en": f"{named} emoji", "ja": f"絵文字{named}"}[language] if announced else named


PARAGRAPH = regex.compile(r"\n[ ]*\n\s*")
WRAPPED_WORD = regex.compile(r"(?<=\p{Ll})-\n[ ]*(?=\p{Ll})")
WRAP = regex.compile(r"[ ]*\n[ ]*")
WIDE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\u3000-\u303f\uff00-\uffef“”‘’…—]")


def paragraphs(text: str) -> list[str]:
    """Paragraphs of plain text. A blank line parts them; so does each newline where lines are long and end
    with a full stop (the habit of Chinese text files). Other newlines are hard wraps and are undone: without
    a space between Han characters, and joining a word that was hyphenated.
    """
    found: list[str] = []
    for block in PARAGRAPH.split(text):
        lines = [line.strip() for line in block.split("\n") if line.strip()]
        if len(lines) > 1 and (all(_is_whole(line) for line in lines) or _is_list(lines)):
            found.extend(lines)
        elif lines:
            found.append(unwrap("\n".join(lines)))
    return found


ITEM = regex.compile(r"(?:\d{1,3}[.、)）]|[-*•·]|[（(]\d{1,3}[)）])\s*\S")


def _is_list(lines: list[str]) -> bool:
    return all(ITEM.match(line) for line in lines)


def _is_whole(line: str) -> bool:
    return bool(regex.search(r"[。！？!?…：；”』」）\"]\s*$", line)) and bool(WIDE.search(line))


def unwrap(text: str) -> str:
    """Hard wraps undone: words rejoined, no space between wide characters."""
    text = WRAPPED_WORD.sub("", text)

    def join(match: regex.Match[str]) -> str:
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        return "" if WIDE.match(before) or WIDE.match(after) else " "

    return WRAP.sub(join, text)
