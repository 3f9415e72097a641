"""The hub, a mirror, and all that can stand in between; each a real server on this machine."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from langdu.doctor.network import OFFICIAL, Reach, judge, look, look_around

REPOSITORY = "owner/model"


class _Hub(BaseHTTPRequestHandler):
    """The first part of the path says how it behaves; the rest is what was asked for."""

    def do_GET(self) -> None:
        how, _, asked = self.path.lstrip("/").partition("/")
        if how == "slow":
            time.sleep(3)
        status = {"busy": 503, "private": 401, "full": 429, "proxy": 407, "moved": 302}.get(how, 200)
        right = asked == f"api/models/{REPOSITORY}/revision/main"
        self.send_response(status if right else 404)
        if how == "moved":
            self.send_header("location", f"/good/{asked}")
        page = how == "hotel"
        self.send_header("content-type", "text/html" if page else "application/json")
        self.end_headers()
        self.wfile.write(b"<html>Room number?</html>" if page else b'{"sha": "abc"}')

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("how", ["good", "moved"])
def test_a_hub_that_answers_is_ok(server: str, how: str) -> None:
    found = look(f"{server}/{how}", REPOSITORY)
    assert (found.problem, judge(found, ["kokoro"]).level) == ("", "ok")


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("busy", "it answers 503"), ("private", "it refuses access (401)"), ("full", "no more requests"),
        ("proxy", "the proxy wants a password"), ("hotel", "a login page of the network"),
    ],
)  # fmt: skip
def test_what_stands_in_between_is_named(server: str, how: str, says: str) -> None:
    found = judge(look(f"{server}/{how}", REPOSITORY), ["kokoro"])
    assert found.level == "warning"
    assert says in found.reason


def test_a_silent_hub_costs_no_more_than_the_time_out(server: str) -> None:
    found = look(f"{server}/slow", REPOSITORY, timeout_s=0.5)
    assert found.problem.startswith("no answer within")
    assert found.seconds < 2.5


def test_an_address_where_nobody_listens_is_said() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{probe.getsockname()[1]}"
    assert "refused" in look(endpoint, REPOSITORY).problem


def test_a_hub_out_of_reach_matters_only_while_something_is_missing() -> None:
    reach = Reach(OFFICIAL, 4.0, "no answer within 4 s")
    note, warning = judge(reach, []), judge(reach, ["kokoro"])
    assert (note.level, warning.level) == ("note", "warning")
    assert "still to fetch: kokoro" in warning.reason


def test_a_mirror_that_answers_is_proposed_in_place_of_a_hub_that_does_not(server: str) -> None:
    found = look_around(f"{server}/busy", REPOSITORY, other=f"{server}/good")
    assert judge(found, []).command == f"export HF_ENDPOINT={server}/good"
    assert judge(found, []).what == f"The mirror {server}/busy cannot be reached"
    assert (
        judge(Reach("http://mirror.example", 0.1, "it answers 503", other=OFFICIAL), []).command == "unset HF_ENDPOINT"
    )


def test_nothing_that_does_not_answer_is_proposed(server: str) -> None:
    found = look_around(f"{server}/busy", REPOSITORY, other=f"{server}/full")
    assert (found.other, judge(found, []).command) == ("", "langdu config set models_folder FOLDER_WITH_MODELS")


def test_a_hub_that_answers_is_all_that_is_asked(server: str) -> None:
    assert look_around(f"{server}/good", REPOSITORY, other="http://127.0.0.1:9").other == ""


def test_passwords_in_an_address_are_not_shown(server: str) -> None:
    found = look(server.replace("http://", "http://me:geheim@") + "/good", REPOSITORY)
    assert (found.problem, "geheim" in found.endpoint) == ("", False)


def test_a_proxy_is_named_by_its_variable_only() -> None:
    found = judge(Reach(OFFICIAL, 0.2, "", "HTTPS_PROXY"), [])
    assert found.reason == "0.2 s through the proxy of HTTPS_PROXY"
