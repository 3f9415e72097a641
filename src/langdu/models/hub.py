"""A model hub, or a mirror of it, as far as fetching files needs it."""

from __future__ import annotations

from urllib.parse import quote

import httpx

from langdu.errors import NetworkError
from langdu.models.catalog import ModelFile

CONNECT_S = 4.0
"""A machine without a hub falls through to its package registries after this long."""


class Hub:
    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint.rstrip("/")
        if not self.endpoint.startswith(("https://", "http://")):
            self.endpoint = f"https://{self.endpoint}"

    def url(self, repository: str, path: str) -> str:
        return f"{self.endpoint}/{repository}/resolve/main/{quote(path)}"

    def reach(self) -> None:
        """Raises NetworkError when nothing answers."""
        try:
            httpx.head(self.endpoint, timeout=CONNECT_S)
        except httpx.HTTPError as error:
            raise NetworkError(f"{self.endpoint} does not answer ({error or type(error).__name__})") from None

    def files(self, repository: str) -> tuple[ModelFile, ...]:
        """Every file of a repository; large ones with the SHA-256 the hub keeps for them."""
        address = f"{self.endpoint}/api/models/{repository}/tree/main?recursive=true"
        try:
            answer = httpx.get(address, timeout=30, follow_redirects=True)
            answer.raise_for_status()
            rows = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise NetworkError(f"{self.endpoint} does not list {repository} ({error})") from None
        return tuple(
            ModelFile(row["path"], row.get("size", 0), row.get("lfs", {}).get("oid", ""))
            for row in rows
            if row.get("type") == "file" and not row["path"].startswith(".")
        )
