"""A model hub, or a mirror of it, as far as fetching files needs it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import httpx

from langdu.errors import NetworkError
from langdu.models.catalog import ModelFile
from langdu.models.download import TIMEOUT


class Hub:
    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint.rstrip("/")
        if not self.endpoint.startswith(("https://", "http://")):
            self.endpoint = f"https://{self.endpoint}"

    def url(self, repository: str, path: str, revision: str = "main") -> str:
        return f"{self.endpoint}/{repository}/resolve/{revision}/{quote(path)}"

    def reach(self) -> None:
        """Raises NetworkError when nothing answers."""
        try:
            httpx.head(self.endpoint, timeout=TIMEOUT)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise NetworkError(f"{self.endpoint} does not answer ({reason})") from None

    def files(self, repository: str) -> tuple[str, tuple[ModelFile, ...]]:
        """The commit `main` stands at, and every file of it with what the hub says it holds.

        Large files come with their SHA-256 (the LFS object's name), small ones with git's blob id. All are
        then asked for at that commit, so that a push in between cannot mix two versions.
        """
        address = f"{self.endpoint}/api/models/{repository}"
        found = self._get(f"{address}/revision/main", repository)
        revision = str(found.get("sha", "")) if isinstance(found, dict) else ""
        if not re.fullmatch(r"[0-9a-f]{7,64}", revision):
            raise NetworkError(f"{self.endpoint} does not say which commit {repository} is at")
        rows = self._get(f"{address}/tree/{revision}?recursive=true", repository)
        try:
            files = tuple(
                ModelFile(
                    row["path"], int(row.get("size", 0)), (row.get("lfs") or {}).get("oid", ""),
                    blob="" if row.get("lfs") else row.get("oid", ""),
                )
                for row in rows
                if row["type"] == "file" and not row["path"].startswith(".")
            )  # fmt: skip
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise NetworkError(f"{self.endpoint} lists {repository} in an unknown form ({error!r})") from None
        if not files:
            raise NetworkError(f"{self.endpoint} has no files in {repository}")
        return revision, files

    def _get(self, address: str, repository: str) -> Any:
        try:
            answer = httpx.get(address, timeout=TIMEOUT, follow_redirects=True)
            answer.raise_for_status()
            return answer.json()
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise NetworkError(f"{self.endpoint} answers {status} for {repository}") from None
        except (httpx.HTTPError, ValueError) as error:
            raise NetworkError(f"{self.endpoint} does not list {repository} ({error})") from None
