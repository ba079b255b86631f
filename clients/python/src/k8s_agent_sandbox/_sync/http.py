# Generated from _async/http.py by tools/make_sync.py: do not edit.
from __future__ import annotations

import json
from collections.abc import Iterator, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._blocking import Pieces, Stream, interrupt, pieces_of
from .._core.deadline import Deadline, SocketTimeouts
from .._core.failures import ConnectionLost
from .._core.tls import proxy_of, ssl_context_of, use_certificate
from .._core.tracing import trace_headers
from .._kube.credentials import Credential
from .._kube.kubeconfig import Tls
from ..exceptions import SandboxArgumentError, SandboxRequestError
from .pools import POOL_SIZE, Pools

if TYPE_CHECKING:
    import ssl

    import httpx

#: httpcore copies what is left of a piece after every write to the socket, so large bodies are sent in pieces.
_PIECE_BYTES = 256 * 1024

#: Errors are short. A server that sends more is not trusted to stop.
_LARGEST_ERROR_BYTES = 64 * 1024


class Request(NamedTuple):
    method: str
    #: Path and query.
    path: str
    headers: Sequence[tuple[str, str]]
    deadline: Deadline
    #: A body that is not bytes can be sent only once.
    body: bytes | Pieces | None = None


class Http:
    """Requests to one server. Connections are kept for later requests. Redirects are errors: they could lead elsewhere."""

    def __init__(self, url: str, tls: Tls | None = None, idle_seconds: float = 4.0) -> None:
        #: Without a slash at the end.
        self.url = url
        self._tls = tls
        self._idle_seconds = idle_seconds
        self._pools = Pools(self._make_transport)
        self._context: ssl.SSLContext | None = None
        self._presented: str | None = None

    def send(self, request: Request) -> Response:
        """Raises ConnectionLost if no response arrives."""
        # Imported on first use: it takes longer than the rest of this package.
        import httpx

        request.deadline.check()
        body, headers = request.body, [("user-agent", "agent-sandbox-sdk"), *request.headers, *trace_headers().items()]
        if isinstance(body, bytes) and len(body) > _PIECE_BYTES:
            headers.append(("content-length", str(len(body))))
            body = _split(body)
        content = body if body is None or isinstance(body, bytes) else pieces_of(body)
        extensions: dict[str, Any] = {"timeout": SocketTimeouts(request.deadline)}
        if self._tls is not None and self._tls.server_name is not None:
            extensions["sni_hostname"] = self._tls.server_name
        outgoing = httpx.Request(
            request.method, f"{self.url}{request.path}", headers=headers, content=content, extensions=extensions
        )
        pool = self._pools.take()
        response: httpx.Response | None = None
        try:
            response = pool.transport.handle_request(outgoing)
        except httpx.LocalProtocolError:
            # Its message contains the header.
            raise SandboxArgumentError(f"{request.deadline.doing}: a header of the request is not valid") from None
        except httpx.TransportError as error:
            raise self._lost(error, request.deadline) from error
        finally:
            if response is None:
                self._pools.give_back(pool)
        found = Response(response, request.deadline, lambda: self._pools.give_back(pool))
        if 300 <= found.status < 400:
            found.close()
            text = f"{request.deadline.doing}: the server answered {found.status}, which is a redirect"
            raise SandboxRequestError(text, status=found.status)
        return found

    def present(self, credential: Credential) -> None:
        """Uses the client certificate of a credential for new connections."""
        if credential.certificate is not None and credential.certificate != self._presented:
            use_certificate(self._tls_context(), credential)
            self._presented = credential.certificate

    def close(self) -> None:
        self._pools.close()

    def _tls_context(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl_context_of(self.url, self._tls)
        return self._context

    def _make_transport(self) -> httpx.HTTPTransport:
        import httpx

        limits = httpx.Limits(max_connections=POOL_SIZE, max_keepalive_connections=POOL_SIZE, keepalive_expiry=self._idle_seconds)
        return httpx.HTTPTransport(verify=self._tls_context(), trust_env=False, limits=limits, proxy=proxy_of(self.url))

    def _lost(self, error: httpx.TransportError, deadline: Deadline) -> Exception:
        import ssl

        import httpx

        if isinstance(error, httpx.TimeoutException) and deadline.is_over:
            return deadline.error()
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                text = f"{deadline.doing}: the certificate of {self.url} is not valid: {cause.verify_message}"
                return SandboxRequestError(text, reason="Unreachable")
            cause = cause.__cause__ or cause.__context__
        is_unsent = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError))
        return ConnectionLost(not is_unsent, error)


class Response:
    """A response whose body can be read once, piece by piece or as a whole."""

    def __init__(self, response: httpx.Response, deadline: Deadline, release: Callable[[], None]) -> None:
        self._response = response
        self._deadline = deadline
        #: Called when the connection is not used any more.
        self._release = release
        self._body: Iterator[bytes] | None = None
        self._is_closed = False
        self._whole: bytes | None = None

    @property
    def status(self) -> int:
        return self._response.status_code

    @property
    def raw(self) -> httpx.Response:
        """The response of httpx, for callers that read it themselves."""
        return self._response

    def header(self, name: str) -> str | None:
        value = self._response.headers.get(name)
        return None if value is None else str(value)

    def next_piece(self) -> bytes | None:
        """None at the end. Raises ConnectionLost if the body is not complete."""
        import httpx

        if self._is_closed:
            return None
        try:
            if self._body is None:
                self._body = self._response.stream.__iter__()  # type: ignore[union-attr]
            piece = next(self._body, None)
        except httpx.TransportError as error:
            self.close()
            if isinstance(error, httpx.TimeoutException) and self._deadline.is_over:
                raise self._deadline.error() from error
            raise ConnectionLost(True, error) from error
        except BaseException:
            self.close()
            raise
        if piece is None:
            self.close()
        elif self._deadline.is_over:
            self.close()
            raise self._deadline.error()
        return piece

    def pieces(self) -> Stream[bytes]:
        """Ending the iteration early closes the connection."""
        try:
            while (piece := self.next_piece()) is not None:
                yield piece
        except ConnectionLost as lost:
            raise self.lost(lost) from lost
        finally:
            self.close()

    def lost(self, error: ConnectionLost) -> SandboxRequestError:
        """The error of a response that was not complete."""
        return SandboxRequestError(f"{self._deadline.doing}: {error}", reason="Unreachable")

    def load(self) -> None:
        """Reads the whole body, so that `read` cannot fail."""
        self._whole = self._read()

    def read(self, largest: int | None = None) -> bytes:
        """The whole body, or the beginning of it."""
        if self._whole is not None:
            return self._whole
        try:
            return self._read(largest)
        except ConnectionLost as lost:
            raise self.lost(lost) from lost

    def _read(self, largest: int | None = None) -> bytes:
        found = []
        size = 0
        while (piece := self.next_piece()) is not None:
            found.append(piece)
            size += len(piece)
            if largest is not None and size >= largest:
                break
        self.close()
        return b"".join(found)

    def json(self) -> Any:
        content = self.read()
        return json.loads(content) if content else {}

    def error_text(self) -> str:
        """The body of an unsuccessful response. Empty if it cannot be read."""
        try:
            return (self._read(_LARGEST_ERROR_BYTES)).decode("utf-8", "replace")
        except ConnectionLost:
            return ""

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            try:
                self._response.close()
            finally:
                self._release()

    def disconnect(self) -> None:
        """Ends the response, also while another thread reads it."""
        interrupt(self._response)
        self.close()


def _split(body: bytes) -> Iterable[bytes]:
    for start in range(0, len(body), _PIECE_BYTES):
        yield body[start : start + _PIECE_BYTES]
