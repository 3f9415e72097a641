"""A hook of mkdocs: the site's search finds Chinese words.

Material's search parts Chinese with the package jieba where that is installed. rjieba has the same algorithm and
dictionary, is what the product itself uses, and loads in 0.2 s instead of 1.2.
"""

from __future__ import annotations

import material.plugins.search.plugin as search
import rjieba


class Words:
    def __init__(self) -> None:
        self._cut = rjieba.Jieba().cut

    def cut(self, text: bytes) -> list[str]:
        return list(self._cut(text.decode("utf-8")))


search.jieba = Words()
