"""Written things as they are said, in the language of their span."""

from __future__ import annotations

import pytest

from langdu.text.script import make_script


def said(text: str, **options: object) -> str:
    return "".join(u.spoken for u in make_script(text).utterances).strip()


CASES = [
    ("价格是¥12.50，同比增长5.7%。", "价格是十二点五元，同比增长百分之五点七。"),
    ("5月3日 共 1,000 人", "五月三日共一千人"),
    ("会议定于2026-11-30。", "会议定于二零二六年十一月三十日。"),
    ("电话13800138000", "电话幺三八零零幺三八零零零"),
    ("请安装v2.10.3版本", "请安装v二点一零点三版本"),
    ("比分是3-2", "比分是三比二"),
    ("我用C#和C++写代码", "我用C sharp和C plus plus写代码"),
    ("I bought 3 apples for $2.5 at 3:30 p.m. on 2026-11-30.",
     "I bought three apples for two point five dollars at three thirty PM on the thirtieth of november twenty twenty six."),
    ("GPT-4 在2024年发布，速度是3.5GB/s。", "GPT four 在二零二四年发布，速度是每秒三点五GB。"),
    ("下午3:30开会", "下午三点三十分开会"),
    ("3/4的人", "四分之三的人"),
    ("第IV章", "第四章"),
    ("温度是-5℃", "温度是零下五摄氏度"),
    ("长度为10~20米", "长度为十到二十米"),
    ("iPhone 15 Pro 很好", "iPhone fifteen Pro 很好"),
    ("他说 I have 3 cats and 2 dogs 然后走了", "他说 I have three cats and two dogs 然后走了"),
    ("Call 555-1234 now.", "Call five five five, one two three four now."),
    ("He finished 1st and 22nd.", "He finished first and twenty second."),
    ("We won 3-2.", "We won three to two."),
    ("Chapter IV", "Chapter four"),
    ("The U.S. team has 50% of it.", "The U.S. team has fifty percent of it."),
    ("½杯水", "二分之一杯水"),
    ("2千克", "两千克"),
    ("请看 README.md", "请看 README点md"),
    ("打开 https://example.com/a.b?c=1.2&d=3 吧", "打开 example点com 吧"),
    ("QQ群号是123456789", "QQ群号是一二三四五六七八九"),
    ("2020-2024年", "二零二零到二零二四年"),
    ("20%-30%", "百分之二十到百分之三十"),
    ("10%的人，5‰的错", "百分之十的人，千分之五的错"),
    ("+86 138-0013-8000", "加八六，幺三八，零零幺三，八零零零"),
    ("共12,000.5元", "共一万二千点五元"), ("5㎏大米", "五千克大米"), ("①苹果", "一、苹果"), ("他是No.5", "他是第五号"),
    ("$1,000 for 2000 apples", "one thousand dollars for two thousand apples"),
    ("1,000 people came.", "one thousand people came."), ("the 1990s", "the nineteen nineties"),
    ("World War II and Henry VIII", "World War two and Henry the eighth"), ("2½ cups", "two and one half cups"),
    ("open 24/7", "open twenty four seven"), ("Call +1 555 123 4567", "Call plus one, five five five, one two three, four five six seven"),
    ("《1984》很好", "《一九八四》很好"), ("￥100-￥200", "一百元到二百元"), ("3000元/月", "每月三千元"), ("Ⅳ级", "四级"),
    ("$5-$10 each", "five dollars to ten dollars each"), ("if x=5", "if x equals five"), ("2x4的木板", "二乘四的木板"),
    ("时间2024-01-05T10:00:00Z", "时间二零二四年一月五日十点"), ("1. 第一\n2. 第二", "一，第一二，第二"),
    ("at 3.5 GB/s fast", "at three point five gigabytes per second fast"),
    ("It cost €1,234.56.", "It cost one thousand two hundred and thirty four point five six euros."),
    ("about 1234.5 meters, or 1100 m", "about one thousand two hundred and thirty four point five meters, or eleven hundred meters"),
    ("1次", "一次"), ("嗯？", "嗯？"), ("OK", "OK"), ("好。", "好。"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_reading(text: str, expected: str) -> None:
    assert said(text) == expected
