"""Numbers in words, for the places where a rule reads one itself."""

from __future__ import annotations

import regex

ZH_DIGITS = str.maketrans("0123456789", "零一二三四五六七八九")
EN_DIGITS = dict(
    zip("0123456789", ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], strict=True)
)
ROMAN = regex.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")


def zh_number(digits: str) -> str:
    """A number in Mandarin: 1,234.50 is 一千二百三十四点五."""
    import cn2an

    digits = digits.replace(",", "")
    whole, _, fraction = digits.partition(".")
    fraction = fraction.rstrip("0")
    said = str(cn2an.an2cn(whole or "0")) if len(whole) <= 15 else whole.translate(ZH_DIGITS)
    return f"{said}点{fraction.translate(ZH_DIGITS)}" if fraction else said


def zh_digits(digits: str) -> str:
    return digits.translate(ZH_DIGITS)


def zh_phone(digits: str) -> str:
    """Digit by digit, one said yāo as people do on the telephone; other marks part the groups."""
    return "，".join(zh_digits(group).replace("一", "幺") for group in regex.findall(r"\d+", digits))


def en_phone(digits: str) -> str:
    return ", ".join(" ".join(EN_DIGITS[d] for d in group) for group in regex.findall(r"\d+", digits))


def en_number(number: int, kind: str = "cardinal") -> str:
    from num2words import num2words

    return str(num2words(number, to=kind)).replace("-", " ").replace(",", "")


def roman(numeral: str) -> int:
    """The value of a Roman numeral (IV is 4)."""
    values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}[c] for c in numeral]
    return sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))
