"""The studio in a real browser: from a text to a playing file."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from .conftest import Running

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--autoplay-policy=no-user-gesture-required",
    "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream",
]  # fmt: skip
TEXT = "今天天气很好，我们去公园走了3公里。\n\n他说：“OK，明天再来。”"
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and "CI" not in os.environ, reason="needs Chromium (Debian: apt-get install chromium)"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser, service: Running) -> Iterator[Page]:
    context = browser.new_context(locale="zh-CN", viewport={"width": 1200, "height": 1000}, permissions=["microphone"])
    found = context.new_page()
    errors: list[str] = []
    found.on("pageerror", lambda error: errors.append(str(error)))
    found.on(
        "request",
        lambda request: (
            errors.append(request.url)
            if service.url not in request.url and not request.url.startswith("blob:")
            else None
        ),
    )
    found.goto(service.url)
    found.wait_for_selector("html[data-ready]")
    expect(found.locator("#voice option").nth(3)).to_be_attached()
    found.evaluate(
        "select => { const v = document.getElementById('voice'); v.append(new Option('tone', 'tone')); v.value = 'tone' }"
    )
    yield found
    context.close()
    assert not errors, errors


def make(page: Page, *, verify: bool = False) -> None:
    page.fill("#text", TEXT)
    page.set_checked("#verify", verify)
    page.click("#start")


def test_a_text_becomes_a_file_that_plays(page: Page) -> None:
    make(page)
    expect(page.locator("#job-state")).to_have_class("badge done", timeout=30_000)
    assert (
        page.evaluate(
            "async () => { const p = document.getElementById('player'); await p.play(); await new Promise(r => p.ontimeupdate = r); return p.duration }"
        )
        > 1
    )
    with page.expect_download() as caught:
        page.click("#download")
    assert Path(str(caught.value.path())).stat().st_size > 1000


def test_what_lies_beside_the_file_can_be_fetched(page: Page) -> None:
    make(page)
    expect(page.locator("#job-state")).to_have_class("badge done", timeout=30_000)
    for kind in ("srt", "vtt", "report"):
        with page.expect_download() as caught:
            page.click(f"#get-{kind}")
        assert Path(str(caught.value.path())).stat().st_size > 50


def test_all_chunks_are_there_from_the_start_and_fill_up(page: Page) -> None:
    page.fill("#text", "\n\n".join(f"这是第{number}个很长的段落。" * 10 for number in range(400)))
    page.set_checked("#verify", False)
    page.click("#start")
    expect(page.locator("#chunks > li")).to_have_count(400, timeout=30_000)
    expect(page.locator("#chunks > li .badge", has_text="未核听").first).to_be_visible(timeout=30_000)
    expect(page.locator("#job-stop")).to_be_visible()
    page.click("#job-stop")
    expect(page.locator("#job-state")).to_have_class("badge cancelled")


def test_roles_and_pronunciations_are_used(page: Page) -> None:
    page.fill("#text", "甲：重庆到了。")
    page.click("summary")
    page.set_checked("#dialogue", True)
    page.fill("#lexicon", "重庆 = 从庆")
    page.fill("#roles", "甲 = tone")
    page.set_checked("#verify", False)
    page.click("#start")
    expect(page.locator("#job-state")).to_have_class("badge done", timeout=30_000)
    expect(page.locator("#chunks > li").first).to_contain_text("从庆到了")
    expect(page.locator("#script .spoken").first).to_have_text("从庆到了。")
    page.fill("#lexicon", "重庆")
    page.click("#start")
    expect(page.locator("#problem")).to_contain_text("重庆")


def test_every_chunk_has_its_text_its_wave_and_its_verdict(page: Page) -> None:
    make(page)
    expect(page.locator("#job-state")).to_have_class("badge done", timeout=30_000)
    rows = page.locator("#chunks > li")
    assert rows.count() >= 1
    expect(rows.first.locator(".badge")).to_have_text("未核听")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#chunks canvas')].every(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v))"
    )


def test_a_chunk_can_be_said_again(page: Page) -> None:
    make(page)
    expect(page.locator("#job-state")).to_have_class("badge done", timeout=30_000)
    page.locator("#chunks > li").first.get_by_role("button", name="重读").click()
    expect(page.locator("#job-state")).to_have_class("badge done", timeout=30_000)
    expect(page.locator("#problem")).to_be_empty()


def test_the_script_shows_what_will_be_said(page: Page) -> None:
    page.fill("#text", TEXT)
    page.click("#preview")
    expect(page.locator("#script li.changed .spoken").first).to_contain_text("三公里")


def test_the_keyboard_is_enough(page: Page) -> None:
    page.focus("#text")
    page.keyboard.type("你好。")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#job")).to_be_visible()
    page.focus("#tab-make")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#jobs")).to_be_visible()
    expect(page.locator("#tab-jobs")).to_be_focused()


def test_it_speaks_english_too(page: Page) -> None:
    page.click("#language")
    expect(page.locator("#start")).to_have_text("Make it")
    assert page.evaluate("document.documentElement.lang") == "en"
    assert (
        page.evaluate(
            "[...document.querySelectorAll('[data-t]')].filter(e => e.textContent.includes('.') && e.textContent === e.dataset.t).length"
        )
        == 0
    )


def test_an_empty_text_is_said_in_one_line(page: Page) -> None:
    page.click("#start")
    expect(page.locator("#problem")).to_have_text("请先写一点文字。")


def test_the_services_own_words_explain_a_refusal(page: Page) -> None:
    page.fill("#text", "。。。")
    page.click("#start")
    expect(page.locator("#problem")).to_contain_text("nothing to say")


def test_markup_in_a_text_stays_text(page: Page) -> None:
    page.fill("#text", "你好<img src=x onerror=alert(1)>世界。")
    page.click("#preview")
    expect(page.locator("#script li").first).to_be_visible()
    assert page.locator("#script img").count() == 0


def test_a_dropped_file_is_read(page: Page, tmp_path: Path) -> None:
    (tmp_path / "故事.txt").write_text(TEXT, encoding="utf-8")
    page.set_input_files("#file", tmp_path / "故事.txt")
    expect(page.locator("#text")).to_have_value(TEXT)
    (tmp_path / "老书.txt").write_text(TEXT, encoding="gbk")
    page.set_input_files("#file", tmp_path / "老书.txt")
    expect(page.locator("#filename")).to_contain_text("老书.txt")
    expect(page.locator("#script .spoken").first).to_contain_text("三公里")
    page.set_checked("#verify", False)
    page.click("#start")
    expect(page.locator("#job-state")).to_have_class("badge done", timeout=30_000)


def test_a_narrow_screen_has_no_sideways_scroll(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    make(page)
    expect(page.locator("#job-state")).to_have_class("badge done", timeout=30_000)
    for tab in ("make", "jobs", "voices", "machine"):
        page.click(f"#tab-{tab}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab


def test_jobs_are_listed_opened_and_deleted(page: Page) -> None:
    make(page)
    expect(page.locator("#job-state")).to_have_class("badge done", timeout=30_000)
    page.click("#tab-jobs")
    rows = page.locator("#job-list > li")
    expect(rows.first).to_contain_text("完成")
    before = rows.count()
    page.on("dialog", lambda dialog: dialog.accept())
    rows.first.get_by_role("button", name="删除").click()
    expect(rows).to_have_count(before - 1 or 1)


def test_the_machine_shows_models_and_measures(page: Page) -> None:
    page.click("#tab-machine")
    expect(page.locator("#model-list > li").first).to_be_visible()
    page.click("#bench")
    expect(page.locator("#bench-result")).to_contain_text("RTF", timeout=20_000)


def test_the_microphone_records_and_silence_is_refused(page: Page) -> None:
    """Chromium's fake microphone beeps: the recording goes through the intake, which finds no speech in it."""
    page.click("#tab-voices")
    page.click("#record")
    expect(page.locator("#record")).to_have_text("停止录音")
    page.wait_for_timeout(1500)
    page.click("#record")
    expect(page.locator("#voice-problem")).not_to_be_empty(timeout=30_000)
