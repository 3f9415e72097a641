"""The studio in a real browser with the real voice and the real checker: what a user sees and does first."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from langdu.settings import settings

from .real_service import RealService
from .test_studio import CHROMIUM, FLAGS, pytestmark

pytestmark = [pytest.mark.real, pytestmark]
CLIP = "列车准时离开上海，经过南京和济南，大约四个半小时以后到达北京。"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealService]:
    with RealService(tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture(scope="module")
def clip(service: RealService) -> Path:
    wish = {"input": CLIP, "voice": "zf_xiaobei", "response_format": "wav", "stream": False}
    path = service.home / "clip.wav"
    path.write_bytes(httpx.post(f"{service.url}/v1/audio/speech", json=wish, timeout=120).content)
    return path


@pytest.fixture(scope="module")
def browser(clip: Path) -> Iterator[Browser]:
    """Its microphone hears the clip, over and over."""
    with sync_playwright() as playwright:
        flags = [*FLAGS, f"--use-file-for-fake-audio-capture={clip}"]
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield found
        found.close()


def opened(browser: Browser, url: str) -> Page:
    page = browser.new_context(locale="zh-CN", permissions=["microphone"]).new_page()
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    return page


@pytest.fixture(scope="module")
def page(browser: Browser, service: RealService) -> Page:
    return opened(browser, service.url)


def test_a_text_is_said_heard_and_played(page: Page) -> None:
    page.fill("#text", "今天的会议改到下午三点。\n\n请大家提前五分钟到三楼的会议室。")
    page.click("#start")
    expect(page.locator("#job-state")).to_have_class("badge done", timeout=90_000)
    expect(page.locator("#chunks .badge.pass")).to_have_count(2)
    playing = "async () => { const p = document.getElementById('player'); await p.play(); await new Promise(r => p.ontimeupdate = r); p.pause(); return p.duration }"
    assert page.evaluate(playing) > 4


def test_a_chunk_that_was_not_understood_is_accepted_by_a_person(page: Page) -> None:
    page.evaluate(
        "() => { const v = document.getElementById('voice'); v.append(new Option('tone', 'tone')); v.value = 'tone' }"
    )
    page.fill("#text", "今天的会议改到下午三点，请大家提前五分钟到。")
    page.click("#start")
    expect(page.locator("#job-state")).to_have_class("badge faulty", timeout=90_000)
    row = page.locator("#chunks > li").first
    expect(row).to_contain_text("听到")
    row.get_by_role("button", name="认可").click()
    expect(page.locator("#job-state")).to_have_class("badge done", timeout=30_000)
    expect(row.locator(".badge")).to_have_text("已认可")


def confirm(page: Page, name: str) -> None:
    expect(page.locator("#transcript")).to_have_value(re.compile("上海"), timeout=60_000)
    page.fill("#name", name)
    page.check("#consent")
    page.get_by_role("button", name="保存声音").click()
    expect(page.locator("#voice-list")).to_contain_text(name, timeout=60_000)


def test_a_voice_is_made_from_a_file_with_its_transcript_confirmed(page: Page, clip: Path) -> None:
    page.click("#tab-voices")
    page.set_input_files("#clip", clip)
    confirm(page, "文件里的声音")


def test_a_voice_is_made_from_the_microphone(page: Page) -> None:
    page.click("#tab-voices")
    page.click("#record")
    page.wait_for_timeout(8000)
    page.click("#record")
    confirm(page, "话筒里的声音")


def test_a_voice_is_heard_before_it_is_chosen(page: Page) -> None:
    page.click("#tab-voices")
    with page.expect_response("**/v1/audio/speech") as answer:
        page.get_by_role("button", name="播放 zf_xiaobei").click()
    assert answer.value.status == 200
    page.get_by_role("button", name="使用 zf_xiaobei").click()
    expect(page.locator("#voice")).to_have_value("zf_xiaobei")


def test_a_model_is_fetched_with_its_progress_shown(browser: Browser, tmp_path: Path) -> None:
    settings.cache_clear()
    source = str(settings().models_dir)
    with RealService(tmp_path, models=False, LANGDU_SOURCES='["folder"]', LANGDU_MODELS_FOLDER=source) as empty:
        page = opened(browser, empty.url)
        page.evaluate(
            "() => { window.bars = 0; new MutationObserver(() => { window.bars += document.querySelectorAll('#model-list progress').length })"
            ".observe(document.getElementById('model-list'), { childList: true, subtree: true }) }"
        )
        page.click("#tab-machine")
        row = page.locator("#model-list > li", has_text="speaker-encoder")
        row.get_by_role("button", name="下载").click()
        expect(row).to_contain_text("已安装", timeout=60_000)
        assert page.evaluate("window.bars") > 0
        page.locator("#model-list > li", has_text="qwen3").first.get_by_role("button", name="下载").click()
        expect(page.locator("#machine-problem")).not_to_be_empty(timeout=30_000)
    assert (tmp_path / "models" / "speaker-encoder").is_dir()
