"""Where credentials go, and that they appear nowhere else."""

from __future__ import annotations

import ssl
import subprocess
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_server import Answer, FakeServer, Received, fake_server, in_turn, json_answer, refusal
from sdks import both, with_client, with_sandbox

from k8s_agent_sandbox import SandboxArgumentError, SandboxError, connect

SECRET = "secret-token-7d0e"


@both
def test_a_redirect_is_an_error_and_the_credential_goes_to_nobody_else(sdk: str) -> None:
    with fake_server(in_turn(Answer())) as stranger:
        away = Answer(307, b"", (("location", f"{stranger.url}/v1/files/x"),))
        with fake_server(in_turn(away)) as router, pytest.raises(SandboxError) as raised:
            with_sandbox(sdk, lambda sandbox: sandbox.files.read("x"), router=router.url, token=SECRET)
    assert "redirect" in str(raised.value)
    assert stranger.received == []
    assert router.received[0].headers["authorization"] == f"Bearer {SECRET}"


@both
def test_requests_to_this_machine_use_no_proxy_of_the_environment(sdk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_server(in_turn(Answer(502))) as proxy, fake_server(in_turn(Answer(200, b"content"))) as router:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert with_sandbox(sdk, lambda sandbox: sandbox.files.read("x"), router=router.url) == b"content"
    assert proxy.received == []


@both
@pytest.mark.parametrize("token", [f"{SECRET}\r\nx-evil: 1", f"{SECRET}\n", f"{SECRET}ü"])
def test_a_token_that_no_header_can_have_is_refused_without_showing_it(sdk: str, token: str) -> None:
    with fake_server(in_turn(Answer())) as router, pytest.raises(SandboxError) as raised:
        with_sandbox(sdk, lambda sandbox: sandbox.files.read("x"), router=router.url, token=token)
    assert router.received == []
    shown = "".join(traceback.format_exception_only(raised.value)) + repr(raised.value.__dict__)
    assert SECRET not in shown


@both
def test_a_header_that_is_not_valid_is_refused_and_does_not_show_the_credential(sdk: str) -> None:
    with fake_server(in_turn(Answer())) as router, pytest.raises(SandboxArgumentError) as raised:
        with_sandbox(sdk, lambda sandbox: sandbox.files.write("x", "y", if_match="a\r\nb"), router=router.url, token=SECRET)
    assert router.received == []
    assert SECRET not in "".join(traceback.format_exception(raised.value))


@both
def test_no_error_contains_the_credential(sdk: str) -> None:
    for answer in (refusal("Unauthenticated", 401), json_answer({"code": "INTERNAL"}, 500), Answer(400, b"no JSON")):
        with fake_server(in_turn(answer)) as router, pytest.raises(SandboxError) as raised:
            with_sandbox(sdk, lambda sandbox: sandbox.commands.run("true"), router=router.url, token=SECRET)
        assert SECRET not in "".join(traceback.format_exception(raised.value)) + repr(raised.value.__dict__)


@both
def test_a_token_that_was_renewed_is_used_after_a_refusal(sdk: str) -> None:
    tokens = iter(["old", "new"])
    with fake_server(in_turn(refusal("Unauthenticated", 401), Answer(200, b"content"))) as router:
        content = with_sandbox(sdk, lambda sandbox: sandbox.files.read("x"), router=router.url, token=lambda: next(tokens))
    assert content == b"content"
    assert [received.headers["authorization"] for received in router.received] == ["Bearer old", "Bearer new"]


def test_an_address_with_a_user_is_refused() -> None:
    for url in ("http://user:pass@127.0.0.1:1", "file:///etc/passwd", "127.0.0.1:80", ""):
        with pytest.raises(SandboxError) as raised:
            connect(router=url or "http://", server="http://127.0.0.1:1")
        assert "pass" not in str(raised.value)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    folder = tmp_path_factory.mktemp("certificates")
    found = {}
    for name in ("own", "other"):
        key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        subject = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
        files = ["-keyout", str(key), "-out", str(certificate)]
        subprocess.run([*words, *subject, *files], check=True, capture_output=True)
        found[name] = certificate
    yield found


def _secure(certificate: Path, script: Any) -> FakeServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    return FakeServer(script, context)


def _sandboxes(_: Received) -> Answer:
    return json_answer({"items": []})


@both
def test_the_api_server_must_have_a_certificate_of_its_authority(sdk: str, certificates: dict[str, Path]) -> None:
    server = _secure(certificates["own"], _sandboxes)
    try:

        def list_with(authority: str) -> Any:
            ca = certificates[authority].read_text()
            options = {"server": server.url, "router": "http://127.0.0.1:1", "ca": ca, "token": SECRET}
            return with_client(sdk, lambda client: client.list(timeout=5), **options)

        assert list_with("own") == []
        with pytest.raises(SandboxError) as raised:
            list_with("other")
    finally:
        server.stop()
    assert raised.value.reason == "Unreachable"
    assert "certificate" in str(raised.value)
    # Nothing was sent to a server that cannot prove who it is.
    assert len(server.received) == 1
