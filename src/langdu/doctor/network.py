"""Whether the model hub, or the mirror HF_ENDPOINT names, answers as a hub would."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from langdu.doctor.finding import Finding, Level

TIMEOUT_S = 4.0
MIRROR = "https://hf-mirror.com"
OFFICIAL = "https://huggingface.co"
PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")


@dataclass(frozen=True, slots=True)
class Reach:
    endpoint: str
    """Without user name and password."""
    seconds: float
    problem: str = ""
    """Why nothing can be fetched from there; empty when it can."""
    proxy: str = ""
    """The variable that names a proxy, if one does."""
    other: str = ""
    """The hub, for a mirror that fails, or a mirror, for the hub: one that does answer; empty when none was needed."""


def look(endpoint: str, repository: str, *, timeout_s: float = TIMEOUT_S) -> Reach:
    """Ask the endpoint for a repository's commit, as a download would. A redirect is followed."""
    import httpx

    from langdu.models.hub import Hub

    base = Hub(endpoint).endpoint
    proxy = next((name for name in PROXIES if os.environ.get(name)), "")
    started = time.perf_counter()
    problem = ""
    try:
        limits = httpx.Timeout(timeout_s)
        answer = httpx.get(f"{base}/api/models/{repository}/revision/main", timeout=limits, follow_redirects=True)
        problem = _problem(answer.status_code, answer.headers.get("content-type", ""), answer.text[:2000])
    except httpx.TimeoutException:
        problem = f"no answer within {timeout_s:.0f} s"
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        problem = str(error) or type(error).__name__
    return Reach(_shown(base), time.perf_counter() - started, problem, proxy)


def look_around(endpoint: str, repository: str, *, other: str = "", timeout_s: float = TIMEOUT_S) -> Reach:
    """As `look`; when nothing can be fetched there, the hub is tried in place of a mirror, a mirror in place of
    the hub (or `other`), so that what is proposed is known to answer."""
    reach = look(endpoint, repository, timeout_s=timeout_s)
    other = other or (MIRROR if reach.endpoint == OFFICIAL else OFFICIAL)
    if reach.problem and not look(other, repository, timeout_s=timeout_s).problem:
        return replace(reach, other=other)
    return reach


def _problem(status: int, kind: str, text: str) -> str:
    if status == 407:
        return "the proxy wants a password"
    if status in (401, 403):
        return f"it refuses access ({status})"
    if status == 429:
        return "it allows no more requests for now (429)"
    if status >= 400:
        return f"it answers {status}"
    if "json" not in kind and text.lstrip().startswith("<"):
        return "it answers with a web page, not with a hub's facts: a login page of the network, or a wrong address"
    return ""


def judge(reach: Reach, missing: Iterable[str]) -> Finding:
    """`missing`: models still to be fetched. Without any, a hub out of reach is only worth knowing."""
    name = f"The mirror {reach.endpoint}" if reach.endpoint != OFFICIAL else f"The hub {reach.endpoint}"
    by = f" through the proxy of {reach.proxy}" if reach.proxy else ""
    if not reach.problem:
        return Finding("ok", "network", f"{name} answers", f"{reach.seconds:.1f} s{by}")
    missing = list(missing)
    wanted = f"; still to fetch: {', '.join(missing)}" if missing else "; nothing has to be fetched now"
    if reach.other:
        command = "unset HF_ENDPOINT" if reach.other == OFFICIAL else f"export HF_ENDPOINT={reach.other}"
        wanted += f"; {reach.other} answers"
    else:
        command = "langdu config set models_folder FOLDER_WITH_MODELS"
        wanted += "; models can be brought in a folder"
    level: Level = "warning" if missing else "note"
    return Finding(level, "network", f"{name} cannot be reached", f"{reach.problem}{by}{wanted}", command)


def _shown(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
