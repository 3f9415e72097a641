"""Our sentence splitter, chunker and reading rules beside public ones, and how the time grows with the text.

    python benchmarks/text.py             # rows right, then 10k to 3M characters (about a minute)
    python benchmarks/text.py --rows      # only the rows

Peers (all from PyPI): pysbd, sentencex (sentences); semantic-text-splitter (chunks under a cap); wetext, cn2an,
num2words by regex (reading). A peer that is not installed is named and left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import resource
import time
from collections.abc import Callable

import regex

from langdu.text.normalize import spoken
from langdu.text.script import make_script
from langdu.text.segment import chunk, pieces, sayable, sentences

Splitter = Callable[[str], list[str]]

# Sentences as a reader breathes; "|" parts them.
SENTENCES = [
    "他说：“我们走吧。”|（众人都笑了。）|她没有回答。|『真的吗？』他又问。",
    "See e.g. Fig. 3 vs. Fig. 4, approx. 5 p.m. etc. |Then stop.",
    "打开 https://example.com/a.b?c=1.2&d=3 然后看 README.md。",
    "等等……我想想……不对，那是昨天的事。……|好吧。",
    "圆周率约为3.14159，版本号是v2.10.3，比例为0.5。|下一句从这里开始。",
    "Mr. Smith paid $3.50 to J. R. Jones. |He left at 5 p.m. |Nobody spoke.",
    "我喜欢 Python 3.11。|It is fast. |真的！",
    "“你来了？”她问，“快进来！”|他点点头。",
    "他大喊：“停！！！”|没有人停下。",
    "The U.S. team won. |He said \"Go!\" and went.",
    "价格是¥12.50！|太贵了吧？！|算了。",
]  # fmt: skip

READINGS = [
    ("zh", "价格是¥12.50，同比增长5.7%。", ("十二点五元", "百分之五点七")),
    ("zh", "5月3日 共 1,000 人", ("五月三日", "一千")),
    ("zh", "会议定于2026-11-30。", ("二零二六年十一月三十日",)),
    ("zh", "电话13800138000", ("三八零零", "三八零零零")),
    ("zh", "请安装v2.10.3版本", ("二点一零点三",)),
    ("zh", "比分是3-2", ("三比二",)),
    ("zh", "我用C#和C++写代码", ("C sharp", "C plus plus")),
    ("en", "I bought 3 apples for $2.5 at 3:30 p.m. on 2026-11-30.",
     ("three apples", "two point five dollars", "three thirty", "november twenty twenty six")),
    ("zh", "GPT-4 在2024年发布，速度是3.5GB/s。", ("GPT four", "二零二四年", "每秒三点五GB")),
    ("zh", "他说 I have 3 cats and 2 dogs 然后走了。", ("three cats and two dogs",)),
    ("zh", "气温-5℃，降水概率20%-30%。", ("零下五", "百分之二十到百分之三十")),
    ("en", "World War II ended in 1945; 1,000 people came.", ("War two", "nineteen forty five", "one thousand people")),
]  # fmt: skip

CAPS = [
    ("今天的天气非常好，我们决定去公园散步。" * 60, 160),
    ("圆周率约为3.14159，版本号是v2.10.3，比例为0.5。下一句从这里开始。", 24),
    ("这是一段完全没有任何标点符号的很长的中文文本" * 20, 160),
    ("word " * 400, 160),
    ("A" * 900, 160),
    ("cafe\u0301" * 40, 24),
    ("他说：“我们走吧。”（众人都笑了。）她没有回答。" * 12, 24),
]
PARAGRAPH = (
    "第{i}天的早晨，天气非常好，我们决定去公园散步；路上遇到了{j}位老朋友。他说：“我们走吧。”她没有回答，只是"
    "看着窗外的雨，想起了很多年以前的那个下午。价格是¥12.50，同比增长5.7%。I bought 3 apples on the way home.\n\n"
)


def chunk_faults(text: str, cap: int, parts: list[str]) -> list[str]:
    """What is wrong with chunks: lost text, over the cap, a bad first character, marks alone, a cut token."""
    faults = []
    if "".join("".join(parts).split()) != "".join(text.split()):
        faults.append("text lost")
    if any(len(part) > cap for part in parts):
        faults.append("over the cap")
    if any(regex.match(r"[，。！？；：、”』）\p{M}]", part) for part in parts):
        faults.append("begins with a closing mark")
    if not all(sayable(part) for part in parts):
        faults.append("marks alone")
    joined = list(itertools.pairwise(parts))
    if any(regex.search(r"\d\.?$", a) and regex.match(r"\.?\d", b) for a, b in joined):
        faults.append("a number cut")
    return faults


def ours_chunks(text: str, cap: int) -> list[str]:
    return [piece for sentence in sentences(text) for piece in pieces(sentence, cap)]


def installed(*names: str) -> bool:
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    for name in missing:
        print(f"  ({name} is not installed: left out)")
    return not missing


def splitters() -> dict[str, Splitter]:
    found: dict[str, Splitter] = {"langdu": sentences}
    if installed("pysbd"):
        import pysbd

        by = {code: pysbd.Segmenter(language=code, clean=False) for code in ("zh", "en")}
        found["pysbd"] = lambda text: by["zh" if regex.search(r"\p{Han}", text) else "en"].segment(text)
    if installed("sentencex"):
        import sentencex

        found["sentencex"] = lambda text: list(
            sentencex.segment("zh" if regex.search(r"\p{Han}", text) else "en", text)
        )
    return found


def chunkers() -> dict[str, Callable[[str, int], list[str]]]:
    found: dict[str, Callable[[str, int], list[str]]] = {"langdu": ours_chunks}
    if installed("semantic_text_splitter"):
        from semantic_text_splitter import TextSplitter

        found["semantic-text-splitter"] = lambda text, cap: TextSplitter(cap, trim=False).chunks(text)
    return found


def readers() -> dict[str, Callable[[str, str], str]]:
    found: dict[str, Callable[[str, str], str]] = {
        "langdu": lambda text, language: spoken(text, language)[0]  # type: ignore[arg-type]
    }
    if installed("wetext"):
        from wetext import Normalizer

        by = {code: Normalizer(lang=code, operator="tn") for code in ("zh", "en")}
        found["wetext"] = lambda text, language: by[language].normalize(text)
    if installed("cn2an"):
        import cn2an

        found["cn2an"] = lambda text, _language: cn2an.transform(text, "an2cn")
    if installed("num2words"):
        from num2words import num2words

        found["num2words"] = lambda text, _language: regex.sub(
            r"\d+(?:\.\d+)?", lambda m: num2words(float(m[0]) if "." in m[0] else int(m[0])).replace("-", " "), text
        )
    return found


def attempt(call: Callable[[], object]) -> object:
    try:
        return call()
    except Exception as error:
        return f"fails: {type(error).__name__}"


def report(title: str, rows: dict[str, tuple[list[str], int, float]]) -> None:
    print(f"\n{title}")
    for name, (wrong, count, seconds) in rows.items():
        print(f"  {name:24} {count - len(wrong):2} of {count} rows right, {seconds * 1000:7.1f} ms")
        if name == "langdu":
            for row in wrong:
                print(f"      wrong: {row}")


def rows() -> None:
    table = {}
    for name, split in splitters().items():
        split("预热。warm.")
        start, wrong = time.perf_counter(), []
        for row in SENTENCES:
            expected = [part.strip() for part in row.split("|")]
            got = attempt(lambda split=split, row=row: [x.strip() for x in split(row.replace("|", ""))])
            if got != expected:
                wrong.append(f"{row} → {got}")
        table[name] = (wrong, len(SENTENCES), time.perf_counter() - start)
    report("Sentences", table)
    table = {}
    for chunker_name, cut in chunkers().items():
        start, wrong = time.perf_counter(), []
        for text, cap in CAPS:
            faults = attempt(lambda cut=cut, text=text, cap=cap: chunk_faults(text, cap, cut(text, cap)))
            if faults:
                wrong.append(f"{text[:20]}… {faults}")
        table[chunker_name] = (wrong, len(CAPS), time.perf_counter() - start)
    report("Chunks under a cap", table)
    table = {}
    for reader_name, read in readers().items():
        read("3", "zh"), read("3", "en")
        start, wrong = time.perf_counter(), []
        for language, text, needed in READINGS:
            got = str(attempt(lambda read=read, text=text, language=language: read(text, language)))
            if not all(part in got for part in needed):
                wrong.append(f"{text} → {got}")
        table[reader_name] = (wrong, len(READINGS), time.perf_counter() - start)
    report("Readings", table)


def growth() -> None:
    print("\nA novel of mixed text, from string to chunks (cap 160)")
    print(f"  {'characters':>10} {'script s':>9} {'chunks s':>9} {'chars/s':>9} {'peak MB':>8}")
    make_script("预热 1 and 2 times.")
    for length in (10_000, 100_000, 1_000_000, 3_000_000):
        count = length // len(PARAGRAPH) + 1
        text = "".join(PARAGRAPH.format(i=i + 1, j=i % 97 + 2) for i in range(count))[:length]
        start = time.perf_counter()
        script = make_script(text)
        middle = time.perf_counter()
        chunk(script.utterances, 160)
        end = time.perf_counter()
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"  {length:10} {middle - start:9.2f} {end - middle:9.2f} {length / (end - start):9.0f} {peak_mb:8.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", action="store_true", help="only the rows, not the growth")
    options = parser.parse_args()
    rows()
    if not options.rows:
        growth()
