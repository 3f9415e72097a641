import socket
from pathlib import Path

import pytest

from langdu.errors import SettingError
from langdu.service.guard import Policy, is_loopback

from .conftest import Running

WISH = {"input": "你好", "voice": "tone"}


def test_another_address_needs_a_token() -> None:
    with pytest.raises(SettingError, match="without a token"):
        Policy(host="0.0.0.0")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8"])
def test_loopback_is_known_in_every_spelling(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.2", "example.com", "127.0.0.1.example.com", "", "::"])
def test_what_others_can_reach_is_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_a_name_that_another_site_points_here_is_refused(service: Running) -> None:
    with service.client() as client:
        answer = client.get("/v1/models", headers={"Host": "evil.example:8880"})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "unknown-host"


@pytest.mark.parametrize("host", ["[", "a]b", "127.0.0.1@evil.example", "evil.example#127.0.0.1"])
def test_a_crooked_host_header_is_refused(service: Running, host: str) -> None:
    with service.client() as client:
        assert client.get("/v1/models", headers={"Host": host}).status_code in (400, 403)


def test_a_page_of_another_site_is_refused(service: Running) -> None:
    with service.client() as client:
        answer = client.post("/v1/audio/speech", json=WISH, headers={"Origin": "https://evil.example"})
        null = client.post("/v1/audio/speech", json=WISH, headers={"Origin": "null"})
    assert answer.status_code == null.status_code == 403


def test_no_cors_header_is_ever_sent(service: Running) -> None:
    with service.client() as client:
        answer = client.post("/v1/audio/speech", json=WISH, headers={"Origin": service.url})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


def test_a_token_is_asked_of_everything_but_the_probes(tmp_path: Path) -> None:
    with Running(tmp_path, Policy(token="secret")) as locked:
        with locked.client() as client:
            assert client.get("/health").status_code == 200
            for path in ("/v1/models", "/", "/studio/index.html", "/metrics", "/v1/jobs", "/mcp", "/openapi.json"):
                assert client.get(path).status_code == 401, path
            assert client.get("/v1/models", headers={"Authorization": "Bearer wrong"}).status_code == 401
            assert client.get("/v1/models", headers={"Authorization": "Bearer sécret".encode()}).status_code == 401
        with locked.client({"Authorization": "Bearer secret"}) as client:
            assert client.get("/v1/models").status_code == 200
        with locked.client() as client:
            client.auth = ("anyone", "secret")
            assert client.get("/").status_code == 200


def test_a_body_over_the_limit_is_refused_by_its_length(tmp_path: Path) -> None:
    with Running(tmp_path, Policy(body_bytes=1000)) as small, small.client() as client:
        assert client.post("/v1/audio/speech", json={"input": "字" * 1000}).status_code == 413


def test_a_body_over_the_limit_is_refused_while_it_comes(tmp_path: Path) -> None:
    def endless() -> object:
        yield from (b"x" * 500 for _ in range(10))

    with Running(tmp_path, Policy(body_bytes=1000)) as small, small.client() as client:
        answer = client.post("/v1/audio/speech", content=endless(), headers={"content-type": "application/json"})  # type: ignore[arg-type]
    assert answer.status_code == 413


def test_files_are_only_read_from_the_page_folder(service: Running) -> None:
    with service.client() as client:
        for path in ("/studio/../app.py", "/studio/%2e%2e/app.py", "/studio/..%2fapp.py", "/studio//etc/passwd"):
            assert client.get(path).status_code == 404, path


def test_too_many_requests_at_once_are_told_to_come_back(tmp_path: Path) -> None:
    with Running(tmp_path, Policy(requests=1)) as small, small.client() as client:
        job = client.post("/v1/jobs", json={"input": "你好。" * 400, "voice": "tone", "verify": False}).json()["id"]
        with small.client() as watcher, watcher.stream("GET", f"/v1/jobs/{job}/events") as events:
            next(events.iter_lines())
            refused = client.get("/v1/models")
            assert client.get("/health").status_code == 200
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "overloaded"
        assert int(refused.headers["retry-after"]) >= 1


def test_a_body_that_does_not_come_is_given_up(tmp_path: Path) -> None:
    head = b"POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
    with Running(tmp_path, Policy(body_s=0.2)) as hasty, socket.create_connection(("127.0.0.1", hasty.port)) as late:
        late.sendall(head + b'{"in')
        late.settimeout(20)
        assert b" 408 " in late.recv(100)
