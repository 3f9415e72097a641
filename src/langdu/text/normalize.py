"""How written things are said: numbers, dates, money, versions, scores, addresses, symbols.

Our own rules, one row each, run first on what the library gets wrong or does not know; then wetext (a
text-normalisation grammar) reads the rest of the sentence in its language. English stretches inside a Chinese
sentence are read as English.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import regex

from langdu.text import grammar, pronunciation
from langdu.text.model import Change, Language
from langdu.text.numbers import EN_DIGITS, ROMAN, ZH_DIGITS, en_number, en_phone, roman, zh_digits, zh_number, zh_phone

UrlPolicy = Literal["domain", "word", "skip"]
EmailPolicy = Literal["read", "word", "skip"]

URL = regex.compile(r"(?:https?://|www\.)[^\s\p{Han}，。！？；、（）《》“”]+[^\s\p{Han}，。！？；、（）《》“”.,;:!?)]")
EMAIL = regex.compile(r"(?<![A-Za-z0-9.+_-])[A-Za-z0-9.+_-]{1,64}+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
FILE = regex.compile(
    r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{1,80}+\.(?:md|txt|py|json|toml|yaml|yml|html|css|js|ts|pdf|docx?|xlsx?|pptx?|csv|mp3|wav|zip)\b"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` is said as `spoken(match)`; named as `langdu script` shows it."""

    name: str
    pattern: regex.Pattern[str]
    spoken: Callable[[regex.Match[str]], str]


def _zh_dots(match: regex.Match[str]) -> str:
    return f"{match[1]}{match[2].translate(ZH_DIGITS).replace('.', '点')}"


def _en_dots(match: regex.Match[str]) -> str:
    from num2words import num2words

    words = " point ".join(num2words(int(part)) for part in match[2].split("."))
    return f"{'version ' if match[1].lower() == 'v' else match[1]}{words.replace('-', ' ')}"


UNITS = {
    "GB": "GB", "MB": "MB", "KB": "KB", "TB": "TB", "Gb": "Gb", "Mb": "Mb", "km": "公里", "m": "米", "cm": "厘米",
    "kg": "公斤", "g": "克", "kWh": "度", "L": "升", "ml": "毫升", "mL": "毫升",
}  # fmt: skip
PER = {"s": "每秒", "h": "每小时", "min": "每分钟", "天": "每天", "秒": "每秒", "小时": "每小时"}


SQUARED = {
    "㎏": "千克", "㎎": "毫克", "㎞": "千米", "㎝": "厘米", "㎜": "毫米", "㎡": "平方米", "㎥": "立方米", "㏄": "毫升",
    "m²": "平方米", "m³": "立方米",
}  # fmt: skip
CARDINAL_HEADS = "War|Chapter|Part|Book|Volume|Section|Act|Phase|Type|Level|Mark|Class|Appendix|Figure|Table"
LONGEST_WORD = 100
"""A run of letters and digits longer than this is data (base64, a hash), not a word anybody can say."""


def _fraction(character: str) -> tuple[int, int]:
    """Numerator and denominator of ½ and its like."""
    above, _, below = unicodedata.normalize("NFKC", character).partition("\u2044")
    return int(above), int(below or 1)


def _zh_fraction(match: regex.Match[str]) -> str:
    above, below = _fraction(match[2])
    said = f"{zh_number(str(below))}分之{zh_number(str(above))}"
    return f"{zh_number(match[1])}又{said}" if match[1] else said


def _en_fraction(match: regex.Match[str]) -> str:
    above, below = _fraction(match[2])
    part = {2: "half", 4: "quarter"}.get(below) or en_number(below, "ordinal")
    said = f"{en_number(above)} {part}{'s' if above > 1 else ''}"
    return f"{en_number(int(match[1]))} and {said}" if match[1] else said


def _en_roman(match: regex.Match[str]) -> str:
    return f"the {en_number(roman(match[1]), 'ordinal')}"


def _en_decade(match: regex.Match[str]) -> str:
    tens = en_number(int(match[2]) * 10) if match[2] != "0" else "hundred"
    return f"{en_number(int(match[1]))} {tens[:-1] + 'ies' if tens.endswith('y') else tens + 's'}"


MONEY = {"$": "dollars", "£": "pounds", "€": "euros"}


def _en_decimal(match: regex.Match[str]) -> str:
    return f"{en_number(int(match[1].replace(',', '')))} point {' '.join(EN_DIGITS[digit] for digit in match[2])}"


def _en_money(match: regex.Match[str]) -> str:
    """Amounts from a thousand on, which the grammar says without their "one"."""
    fraction = "".join(f" {EN_DIGITS[digit]}" for digit in match[3] or "")
    return f"{en_number(int(match[2].replace(',', '')))}{' point' + fraction if fraction else ''} {MONEY[match[1]]}"


VULGAR = r"(\d*)([\u00bc-\u00be\u2150-\u215e])"
NAMES = (
    Rule("name", regex.compile(r"(?<![A-Za-z])([CF])#"), lambda m: f"{m[1]} sharp"),
    Rule("name", regex.compile(r"(?<![A-Za-z])C\+\+"), lambda m: "C plus plus"),
    Rule(
        "time",
        regex.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"),
        lambda m: f"{m[1]} {m[2]}",
    ),
    Rule("name", regex.compile(r"\.NET\b"), lambda m: "dot net"),
    Rule("name", regex.compile(r"\bNode\.js\b"), lambda m: "Node J S"),
)
ZH_RULES = (
    Rule("list", regex.compile(r"^(\d{1,3})\.\s+"), lambda m: f"{zh_number(m[1])}，"),
    Rule("title", regex.compile(r"(?<=《)\d{4}(?=》)"), lambda m: zh_digits(m[0])),
    Rule("rate", regex.compile(r"(\d[\d,]*(?:\.\d+)?)(元|块|美元)/(月|年|天|日|小时|人|个|斤|次)"),
         lambda m: f"每{m[3]}{zh_number(m[1])}{m[2]}"),
    Rule("roman", regex.compile(r"[\u2160-\u216b]"), lambda m: zh_number(str(int(unicodedata.numeric(m[0]))))),
    Rule("symbol", regex.compile(r"(?<=\d)\s?[x×]\s?(?=\d)"), lambda m: "乘"),
    Rule("symbol", regex.compile(r"(?<=[\w)])\s?=\s?(?=[\w(])"), lambda m: "等于"),
    Rule("money", regex.compile(r"[¥￥]\s?(\d[\d,]*(?:\.\d+)?)(万|亿)?(?:元)?"),
         lambda m: f"{zh_number(m[1])}{m[2] or ''}元"),
    Rule("money", regex.compile(r"\$\s?(\d[\d,]*(?:\.\d+)?)(万|亿)?(?:美元)?"),
         lambda m: f"{zh_number(m[1])}{m[2] or ''}美元"),
    Rule("rate", regex.compile(rf"(\d[\d,]*(?:\.\d+)?)\s?({'|'.join(UNITS)})/({'|'.join(PER)})(?![A-Za-z])"),
         lambda m: f"{PER[m[3]]}{zh_number(m[1])}{UNITS[m[2]]}"),
    Rule("temperature", regex.compile(r"(?<![\d.])[-−](\d+(?:\.\d+)?)\s?(?:℃|°C)"),
         lambda m: f"零下{zh_number(m[1])}摄氏度"),
    Rule("phone", regex.compile(r"\+(\d{1,3}[ -]\d[\d -]{5,}\d)"), lambda m: f"加{zh_phone(m[1])}"),
    Rule("phone", regex.compile(r"(?<![\d.])(0\d{2,3}[- ]\d{7,8}|[48]00-\d{3,4}-\d{3,4}|1\d{2}[- ]?\d{4}[- ]?\d{4})(?![\d.])"),
         lambda m: zh_phone(m[1])),
    Rule("digits", regex.compile(r"(?<=(?:号码?|QQ|群|邮编|验证码|密码|账号|卡号|尾号|学号|工号|代码)[是为：:]?\s?)(\d{3,})(?![\d.,年月日号个人元岁])"),
         lambda m: zh_digits(m[1])),
    Rule("fraction", regex.compile(VULGAR), _zh_fraction),
    Rule("unit", regex.compile("|".join(SQUARED)), lambda m: SQUARED[m[0]]),
    Rule("per mille", regex.compile(r"(\d+(?:\.\d+)?)‰"), lambda m: f"千分之{zh_number(m[1])}"),
    Rule("enclosed number", regex.compile(r"[\u2460-\u2473]"), lambda m: f"{zh_number(str(int(unicodedata.numeric(m[0]))))}、"),
    Rule("ordinal", regex.compile(r"(?<![A-Za-z])No\.\s?(\d+)"), lambda m: f"第{zh_number(m[1])}号"),
    Rule("thousands", regex.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])"), lambda m: m[0].replace(",", "")),
    Rule("range", regex.compile(r"(?<=\d%)\s?-\s?(?=\d)"), lambda m: "到"),
    Rule("score", regex.compile(r"(?<=[比分胜负平败领先以][是为数：:]?\s?)(\d{1,3})\s?[-–:：]\s?(\d{1,3})(?![\d:：])"),
         lambda m: f"{zh_number(m[1])}比{zh_number(m[2])}"),
    Rule("version", regex.compile(r"(?<![\w.])([vV]?)(\d+(?:\.\d+){2,})(?![\w])"), _zh_dots),
    Rule("version", regex.compile(r"(?<![\w.])([vV])(\d+(?:\.\d+)?)(?![\w.])"), _zh_dots),
    Rule("model name", regex.compile(r"(?<=[A-Za-z])-(\d+(?:\.\d+)?)(?![\d-])"), lambda m: f" {en_number(int(m[1])) if m[1].isdigit() else zh_number(m[1])} "),
    Rule("range", regex.compile(r"(\d+(?:\.\d+)?%?)\s?[~～–—]\s?(?=\d)"), lambda m: f"{m[1]}到"),
    Rule("chapter", regex.compile(rf"(?<=第)({ROMAN.pattern})(?=[章节卷部回篇])"),
         lambda m: zh_number(str(roman(m[1])))),
    Rule("range", regex.compile(r"(?<=元)\s?[-~–—]\s?(?=[零一二两三四五六七八九十])"), lambda m: "到"),
    Rule("symbol", regex.compile(r"(?<=\S)\s?&\s?(?=\S)"), lambda m: "和"),
)  # fmt: skip
EN_RULES = (
    Rule("range", regex.compile(r"(?<=[$£€]\d[\d,.]*)\s?[-–~]\s?(?=[$£€]?\d)"), lambda m: " to "),
    Rule("roman", regex.compile(r"[\u2160-\u216b]"), lambda m: en_number(int(unicodedata.numeric(m[0])))),
    Rule("symbol", regex.compile(r"(?<=[\w)])\s?=\s?(?=[\w(])"), lambda m: " equals "),
    Rule("score", regex.compile(r"(?<=\b(?:won|lost|score|scored|beat|led|by|ahead)\b[^.\d]{0,20})(\d{1,3})[-–](\d{1,3})\b"),
         lambda m: f"{m[1]} to {m[2]}"),
    Rule("version", regex.compile(r"(?<![\w.])([vV]?)(\d+(?:\.\d+){2,})(?!\w)"), _en_dots),
    Rule("version", regex.compile(r"(?<![\w.])([vV])(\d+(?:\.\d+)?)(?![\w.])"), _en_dots),
    Rule("phone", regex.compile(r"\+(\d{1,3}[ -]\(?\d[\d() -]{5,}\d)"), lambda m: f"plus {en_phone(m[1])}"),
    Rule("phone", regex.compile(r"(?<![\w-])((?:\(?\d{3}\)?[ -])?\d{3}-\d{4})(?![\w-])"), lambda m: en_phone(m[1])),
    Rule("always", regex.compile(r"\b24/7\b"), lambda m: "twenty four seven"),
    Rule("decade", regex.compile(r"\b(1\d|20)(\d)0s\b"), _en_decade),
    Rule("fraction", regex.compile(VULGAR), _en_fraction),
    Rule("ordinal", regex.compile(r"(?:\b[Nn]o\.\s?|(?<!\w)#)(?=\d)"), lambda m: "number "),
    Rule("enclosed number", regex.compile(r"[\u2460-\u2473]"), lambda m: f"{en_number(int(unicodedata.numeric(m[0])))}, "),
    Rule("money", regex.compile(r"([$£€])(\d{1,3}(?:,\d{3})+|\d{4,12})(?:\.(\d+))?(?![\d,])"), _en_money),
    Rule("meters", regex.compile(r"(?<![$£€\d.,:])(\d[\d,.]*)\s?m\b(?![./'’])"), lambda m: f"{m[1]} {'meter' if m[1] == '1' else 'meters'}"),
    Rule("decimal", regex.compile(r"(?<![\d,.:/$£€-])(\d{1,3}(?:,\d{3})+|\d{4,12})\.(\d+)(?![\d.])"), _en_decimal),
    Rule("thousands", regex.compile(r"(?<![\d,.:/$£€-])(\d{1,3}(?:,\d{3})+|\d000)(?![\d,.:/-])"), lambda m: en_number(int(m[1].replace(",", "")))),
    Rule("model name", regex.compile(r"(?<=[A-Za-z])-(?=\d)"), lambda m: " "),
    Rule("range", regex.compile(r"(?<=\d%?)\s?[~–—]\s?(?=\d)"), lambda m: " to "),
    Rule("roman", regex.compile(rf"(?<=\b(?:{CARDINAL_HEADS})\s)(?=[IVXLC])({ROMAN.pattern})\b"), lambda m: en_number(roman(m[1]))),
    Rule("roman", regex.compile(r"(?<=\p{Lu}\p{Ll}+\s)(II|III|IV|VI{1,3}|IX|XI{1,3}|XIV|XV|XVI{0,3})\b"), _en_roman),
    Rule("abbreviation", regex.compile(r"\be\.g\."), lambda m: "for example"),
    Rule("abbreviation", regex.compile(r"\bi\.e\."), lambda m: "that is"),
    Rule("abbreviation", regex.compile(r"\bvs\."), lambda m: "versus"),
    Rule("abbreviation", regex.compile(r"\bFigs?\.(?=\s?\d)"), lambda m: "figure"),
    Rule("abbreviation", regex.compile(r"\bapprox\."), lambda m: "approximately"),
    Rule("abbreviation", regex.compile(r"\betc\.(?=\s*[\p{Ll},;)]|\s+\p{Lu}|$)"), lambda m: "et cetera."),
    Rule("symbol", regex.compile(r"(?<=\S)\s?&\s?(?=\S)"), lambda m: " and "),
)  # fmt: skip

ENGLISH_STRETCH = regex.compile(
    r"[A-Za-z][A-Za-z'’]*(?:[ ,]+(?:[$€£]?\d[\d,.:]*\d?(?:st|nd|rd|th|%)?|[A-Za-z][A-Za-z'’]*))+(?:[ ,]+[A-Za-z][A-Za-z'’]*)+"
)
"""Words, numbers among them, words again: three or more tokens of English inside a Chinese sentence."""


DATA = regex.compile(rf"(?<![\w/.+=])(?!https?:)[A-Za-z0-9+/=_-]{{{LONGEST_WORD + 1},}}")
"""A run nobody can say; `script` warns of it."""


def _left_out(match: regex.Match[str], changes: list[Change]) -> str:
    changes.append(Change("unsayable run", match[0], ""))
    return ""


def spoken(
    text: str, language: Language, *, url: UrlPolicy = "domain", email: EmailPolicy = "read"
) -> tuple[str, list[Change]]:
    """The sentence as it is said, and each rule that changed it. Japanese numbers are left to its own G2P."""
    changes: list[Change] = []
    addresses = functools.partial(_addresses, language=language, url=url, email=email, changes=changes)
    parts: list[str] = []
    at = 0
    for match in pronunciation.MARK.finditer(text):
        parts += [_read(text[at : match.start()], language, addresses, changes), match[0]]
        at = match.end()
    return "".join([*parts, _read(text[at:], language, addresses, changes)]), changes


def _read(text: str, language: Language, addresses: Callable[[str], str], changes: list[Change]) -> str:
    text = DATA.sub(lambda m: _left_out(m, changes), text)
    text = addresses(text)
    text = _apply(NAMES, text, changes)
    if language == "en":
        return grammar.read(_apply(EN_RULES, text, changes), "en", changes)
    if language == "ja":
        return text
    parts: list[str] = []
    at = 0
    for match in ENGLISH_STRETCH.finditer(text):
        parts.append(_chinese(text[at : match.start()], changes))
        parts.append(grammar.read(_apply(EN_RULES, match[0], changes), "en", changes))
        at = match.end()
    parts.append(_chinese(text[at:], changes))
    return "".join(parts)


def _chinese(text: str, changes: list[Change]) -> str:
    return grammar.read(_apply(ZH_RULES, text, changes), "zh", changes)


def _apply(rules: tuple[Rule, ...], text: str, changes: list[Change]) -> str:
    for rule in rules:

        def say(match: regex.Match[str], rule: Rule = rule) -> str:
            after = rule.spoken(match)
            if after != match[0]:
                changes.append(Change(rule.name, match[0], after))
            return after

        text = rule.pattern.sub(say, text)
    return text


@dataclass(frozen=True, slots=True)
class _Words:
    """What an address is said with."""

    dot: str
    at: str
    link: str
    email: str


WORDS: dict[Language, _Words] = {
    "zh": _Words("点", " at ", "链接", "邮箱地址"),
    "en": _Words(" dot ", " at ", "link", "e-mail address"),
    "ja": _Words("ドット", "アットマーク", "リンク", "メールアドレス"),
}


def _addresses(text: str, *, language: Language, url: UrlPolicy, email: EmailPolicy, changes: list[Change]) -> str:
    words = WORDS[language]

    def say_url(match: regex.Match[str]) -> str:
        domain = regex.sub(r"^(?:https?://)?(?:www\.)?", "", match[0]).split("/")[0].split("?")[0].split(":")[0]
        after = {"domain": domain.replace(".", words.dot), "word": words.link, "skip": ""}[url]
        changes.append(Change("url", match[0], after))
        return after

    def say_email(match: regex.Match[str]) -> str:
        spelled = match[0].replace(".", words.dot).replace("@", words.at)
        after = {"read": spelled, "word": words.email, "skip": ""}[email]
        changes.append(Change("e-mail", match[0], after))
        return after

    def say_file(match: regex.Match[str]) -> str:
        after = match[0].replace(".", words.dot).replace("_", " ")
        changes.append(Change("file name", match[0], after))
        return after

    text = URL.sub(say_url, text)
    text = EMAIL.sub(say_email, text)
    return FILE.sub(say_file, text)
