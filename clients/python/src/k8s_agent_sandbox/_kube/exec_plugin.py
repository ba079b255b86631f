from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from .credentials import Credential, CredentialProblem, Credentials


class ExecPlugin(NamedTuple):
    """An exec plugin of a kubeconfig (``users[].user.exec``)."""

    api_version: str
    command: str
    args: Sequence[str]
    env: Mapping[str, str]
    #: Shown when the command is missing.
    install_hint: str | None = None
    #: Passed to the plugin if the kubeconfig sets ``provideClusterInfo``.
    cluster: Mapping[str, Any] | None = None


_TIMEOUT = 60.0
#: A credential is replaced this long before it expires, so that it is still valid when the server checks it.
_EXPIRY_MARGIN = 10.0
#: A server that rejects every credential must not cause a new process per request.
_RENEW_PAUSE = 5.0
#: Credentials have a few KiB; more output is not a credential.
_MOST_OUTPUT_BYTES = 1 << 20
#: How much of stderr is included in the error.
_SHOWN_ERROR_CHARACTERS = 2048


class ExecCredentials(Credentials):
    """Credentials from an exec plugin, kept until they expire or the server rejects them. Runs one process at a time."""

    def __init__(self, plugin: ExecPlugin) -> None:
        self._plugin = plugin
        self._lock = threading.Lock()
        self._credential: Credential | None = None
        self._expires_at: float | None = None
        self._renewed_at: float | None = None

    def known(self) -> Credential | None:
        is_good = self._expires_at is None or time.time() < self._expires_at - _EXPIRY_MARGIN
        return self._credential if is_good else None

    def load(self, refused: Credential | None = None) -> Credential:
        with self._lock:
            known = self.known()
            now = time.monotonic()
            is_pausing = self._renewed_at is not None and now - self._renewed_at < _RENEW_PAUSE
            if known is not None and (refused is None or is_pausing or known != refused):
                return known
            if refused is not None:
                self._renewed_at = now
            try:
                self._credential, self._expires_at = parse_exec_credential(self._run(), self._plugin.api_version)
            except CredentialProblem as problem:
                hint = f"; {self._plugin.install_hint}" if self._plugin.install_hint else ""
                text = f'Cannot get a credential from "{self._plugin.command}": {problem}{hint}'
                raise CredentialProblem(text) from None
            return self._credential

    def _run(self) -> str:
        plugin = self._plugin
        spec = {"interactive": False, **({"cluster": plugin.cluster} if plugin.cluster else {})}
        info = json.dumps({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec})
        try:
            child = subprocess.Popen(
                [plugin.command, *plugin.args],
                env={**os.environ, **plugin.env, "KUBERNETES_EXEC_INFO": info},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise CredentialProblem("command not found") from None
        except OSError as error:
            raise CredentialProblem(error.strerror or "it cannot be started") from None
        try:
            output, complaints = child.communicate(timeout=_TIMEOUT)
        except BaseException as error:
            _kill(child)
            if isinstance(error, subprocess.TimeoutExpired):
                raise CredentialProblem(f"it did not end within {_TIMEOUT:g} seconds") from None
            raise
        if len(output) > _MOST_OUTPUT_BYTES:
            raise CredentialProblem(f"it printed more than {_MOST_OUTPUT_BYTES} bytes")
        if child.returncode != 0:
            shown = complaints.decode("utf-8", "replace").strip()[-_SHOWN_ERROR_CHARACTERS:]
            said = f"; it printed to stderr: {shown}" if shown else ""
            raise CredentialProblem(f"it ended with exit code {child.returncode}{said}")
        return output.decode("utf-8", "replace")


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Ends the plugin and its child processes."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


def parse_exec_credential(output: str, api_version: str) -> tuple[Credential, float | None]:
    """The credential in the output of a plugin, and when it expires in seconds since 1970."""
    try:
        printed = json.loads(output)
    except ValueError:
        text = "it did not print valid JSON" if output.strip() else "it printed nothing"
        raise CredentialProblem(text) from None
    if not isinstance(printed, dict) or printed.get("kind") != "ExecCredential":
        raise CredentialProblem("it did not print an ExecCredential")
    if printed.get("apiVersion") != api_version:
        raise CredentialProblem(f'it printed another version than "{api_version}", which the kubeconfig asks for')
    status = printed.get("status")
    fields = status if isinstance(status, dict) else {}
    token, certificate, key = (fields.get(name) for name in ("token", "clientCertificateData", "clientKeyData"))
    for name, value in (("token", token), ("clientCertificateData", certificate), ("clientKeyData", key)):
        if value is not None and not isinstance(value, str):
            raise CredentialProblem(f"its status.{name} is not a string")
    if bool(certificate) != bool(key):
        raise CredentialProblem("it printed only one of status.clientCertificateData and status.clientKeyData")
    if not token and not certificate:
        raise CredentialProblem("it printed neither status.token nor a client certificate")
    authorization = f"Bearer {token}" if token else None
    return Credential(authorization, certificate or None, key or None), _expiry_of(fields.get("expirationTimestamp"))


def _expiry_of(value: object) -> float | None:
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        raise CredentialProblem("its status.expirationTimestamp is not a valid time") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
