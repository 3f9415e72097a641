"""English text to Kokoro's phonemes, without espeak (GPL) and without a tagger.

Words come from misaki's two dictionaries (about 180,000 words), then by ending (-s, -ed, -ing, 's), then by
shape: acronyms are spelled, camel case is split, and what is left is guessed by `g2p_en`'s small
sequence-to-sequence network (`guess.py`).
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

from langdu.engines.phonemes.guess import Guesser

TOKEN = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)*|[^\sA-Za-z]+|\s+")
PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
VOWELS = "AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ"
PRIMARY, SECONDARY = "ˈ", "ˌ"

# Function words as they are said in a sentence, not alone.
WEAK = {
    "a": "ɐ", "an": "ən", "the": "ðə", "to": "tə", "of": "ʌv", "and": "ænd", "i": "ˌI", "in": "ɪn", "is": "ɪz",
    "are": "ɑɹ", "was": "wʌz", "for": "fɔɹ", "at": "æt", "as": "æz", "that": "ðæt", "from": "fɹʌm",
}  # fmt: skip
# Names the dictionaries lack or say otherwise than their owners do.
NAMES = {
    "iphone": "ˈIfˌOn", "ipad": "ˈIpˌæd", "github": "ɡˈɪthˌʌb", "chatgpt": "ʧˌætʤˌipˌitˈi", "wechat": "wˈiʧˌæt",
    "linux": "lˈɪnəks", "nginx": "ˌɛnʤɪnˈɛks", "sql": "ˌɛskjˌuˈɛl", "youtube": "jˈutˌub", "tiktok": "tˈɪktˌɑk",
    "kubernetes": "kˌubəɹnˈɛTiz", "openai": "ˌOpənˌAˈI", "wifi": "wˈIfˌI", "app": "ˈæp", "ceo": "sˌiˌiˈO",
}  # fmt: skip
LETTERS = {
    "a": "ˈA", "b": "bˈi", "c": "sˈi", "d": "dˈi", "e": "ˈi", "f": "ˈɛf", "g": "ʤˈi", "h": "ˈAʧ", "i": "ˈI",
    "j": "ʤˈA", "k": "kˈA", "l": "ˈɛl", "m": "ˈɛm", "n": "ˈɛn", "o": "ˈO", "p": "pˈi", "q": "kjˈu", "r": "ˈɑɹ",
    "s": "ˈɛs", "t": "tˈi", "u": "jˈu", "v": "vˈi", "w": "dˈʌbᵊlju", "x": "ˈɛks", "y": "wˈI", "z": "zˈi",
}  # fmt: skip


class English:
    """`british` picks the dictionaries of British voices (bf_*, bm_*)."""

    def __init__(self, *, british: bool = False) -> None:
        variant = "gb" if british else "us"
        self._gold = _dictionary(f"{variant}_gold.json")
        self._silver = _dictionary(f"{variant}_silver.json")
        self._guess = Guesser()

    def __call__(self, text: str) -> str:
        """Phonemes of English words, digits excluded (the text front end has spelled them)."""
        tokens = TOKEN.findall(text)
        spoken: list[str] = []
        for index, token in enumerate(tokens):
            if not token[0].isalpha():
                spoken.append(" " if token.isspace() else token)
                continue
            following = next((t for t in tokens[index + 1 :] if t[0].isalpha()), "")
            spoken.append(self._in_sentence(token, following))
        return "".join(spoken)

    def _in_sentence(self, word: str, following: str) -> str:
        lower = word.lower()
        if lower == "the" and following[:1].lower() in "aeiou" and following:
            return "ði"
        if lower == "to" and following[:1].lower() in "aeiou" and following:
            return "tʊ"
        if lower == "a" and (word == "A" and not following):
            return LETTERS["a"]  # a lone A is a letter (grade A), not the article
        return WEAK.get(lower) or self.word(word)

    @functools.lru_cache(maxsize=8192)  # noqa: B019 - one instance for each process
    def word(self, word: str) -> str:
        """Phonemes of one word, however it has to be found."""
        word = word.replace("’", "'")
        lower = word.lower()
        return (
            NAMES.get(lower)
            or self._lookup(word)
            or self._by_ending(lower)
            or self._spelled(word)
            or self._split(word)
            or self._guess(lower)
        )

    def _lookup(self, word: str) -> str:
        for form in dict.fromkeys((word, word.lower(), word.capitalize())):
            if len(form) == 1:
                return LETTERS.get(form.lower(), "")
            for words in (self._gold, self._silver):
                if found := words.get(form):
                    return _default(found)
        return ""

    def _by_ending(self, word: str) -> str:
        for ending, stems, join in ENDINGS:
            if word.endswith(ending) and len(word) > len(ending) + 1:
                for stem in stems(word[: -len(ending)]):
                    if len(stem) > 1 and (found := self._lookup(stem)):
                        return str(join(found))
        return ""

    def _spelled(self, word: str) -> str:
        """An acronym letter by letter; a plural s stays a sound (PDFs).

        Each letter is a word of its own with a long i: a listener hears "C E O" so, and run together with
        one stress hears a Chinese word instead.
        """
        plural = re.fullmatch(r"([A-Z]{2,})s", word)
        letters = plural[1] if plural else word
        vowels = sum(letter in "AEIOUY" for letter in letters)
        if not letters.isupper() or (len(letters) > 4 and vowels):
            return ""
        spoken = " ".join(LETTERS.get(x, "").replace("i", "iː") for x in letters.lower()).strip()
        return _plural(spoken) if plural and spoken else spoken

    def _split(self, word: str) -> str:
        parts = PARTS.findall(word)
        if len(parts) < 2:
            return ""
        return " ".join(self.word(part) for part in parts)


def _plural(stem: str) -> str:
    if stem[-1] in "ptkfθ":
        return stem + "s"
    return stem + ("ᵻz" if stem[-1] in "szʃʒʧʤ" else "z")


def _past(stem: str) -> str:
    if stem[-1] in "pkfθʃsʧ":
        return stem + "t"
    return stem + ("ᵻd" if stem[-1] in "dtT" else "d")


# Ending, the stems it may stand on, and what it does to their sound (wiktionary: -s, -ed, -ing).
ENDINGS: tuple[tuple[str, Any, Any], ...] = (
    ("'s", lambda s: (s,), _plural),
    ("ies", lambda s: (s + "y",), _plural),
    ("es", lambda s: (s, s + "e"), _plural),
    ("s", lambda s: (s,), _plural),
    ("ied", lambda s: (s + "y",), _past),
    ("ed", lambda s: (s, s + "e", s[:-1]), _past),
    ("ing", lambda s: (s, s + "e", s[:-1]), lambda p: p + "ɪŋ"),
    ("ly", lambda s: (s,), lambda p: p + "li"),
    ("er", lambda s: (s, s + "e", s[:-1]), lambda p: p + "əɹ"),
)


def _default(found: str | dict[str, str | None]) -> str:
    if isinstance(found, dict):
        return found.get("DEFAULT") or next((p for p in found.values() if p), "") or ""
    return str(found)


@functools.cache
def _dictionary(name: str) -> dict[str, Any]:
    spec = importlib.util.find_spec("misaki")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    path = Path(spec.submodule_search_locations[0]) / "data" / name
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
