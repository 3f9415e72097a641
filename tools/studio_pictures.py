"""The pictures of the studio in docs/images, taken in Chromium from a running service.

    langdu serve --port 8881 &
    python tools/studio_pictures.py http://127.0.0.1:8881

Needs the models kokoro and whisper-base, Playwright, and a Chromium on PATH.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
TEXT = """今天天气很好，我们去公园走了3公里，花了25元买了一本书。

他说：“OK，明天再来。”然后大家都笑了，慢慢走回家去。

第二天下雨了，谁也没有出门。重庆的朋友寄来一封信。"""


def opened(browser: Browser, url: str, language: str, width: int, height: int, scheme: str = "light") -> Page:
    context = browser.new_context(
        locale=language, viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
    )  # fmt: skip
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#voice option").nth(3)).to_be_attached()
    return page


def made(page: Page) -> None:
    page.select_option("#voice", "zf_xiaobei")
    page.fill("#text", TEXT)
    page.click("#start")
    expect(page.locator("#job-state")).to_have_class("badge done", timeout=120_000)
    page.wait_for_function("() => document.getElementById('player').readyState > 0")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#chunks canvas')].every(c => c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data.some(v => v))"
    )
    page.evaluate("scrollTo(0, 0)")
    page.mouse.move(0, 0)


def main() -> None:
    url = sys.argv[1]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = opened(browser, url, "zh-CN", 1180, 900)
        made(page)
        page.screenshot(path=IMAGES / "studio.png", full_page=True)
        page.click("#tab-voices")
        expect(page.locator("#voice-list > li").nth(5)).to_be_visible()
        page.screenshot(path=IMAGES / "studio-voices.png")
        page.click("#tab-machine")
        expect(page.locator("#model-list > li").first).to_be_visible()
        page.screenshot(path=IMAGES / "studio-machine.png", full_page=True)
        page = opened(browser, url, "en-US", 390, 844, "dark")
        made(page)
        page.screenshot(path=IMAGES / "studio-narrow.png", full_page=True)
        browser.close()


if __name__ == "__main__":
    main()
