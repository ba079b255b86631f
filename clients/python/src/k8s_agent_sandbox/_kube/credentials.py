from __future__ import annotations

import base64
import re
import threading
import time
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Credential:
    """What a request to the API server carries. Its values never appear in messages."""

    authorization: str | None = field(default=None, repr=False)
    certificate: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)


class CredentialProblem(Exception):
    """No credential can be obtained now. The message is for people."""


class Credentials:
    """Where credentials come from. `known` does not block, `load` may read files or run programs."""

    def known(self) -> Credential | None:
        """The credential to use, or None if `load` must be called."""
        raise NotImplementedError

    def load(self, refused: Credential | None = None) -> Credential:
        """A credential. `refused` is the one that the server has rejected."""
        raise NotImplementedError


class FixedCredentials(Credentials):
    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    def known(self) -> Credential:
        return self._credential

    def load(self, refused: Credential | None = None) -> Credential:
        return self._credential


def password_credential(username: str, password: str) -> Credential:
    pair = base64.b64encode(f"{username}:{password}".encode()).decode("ascii")
    return Credential(authorization=f"Basic {pair}")


#: Kubernetes replaces a Pod's token at 80 % of its lifetime, which is at least an hour, so a minute of delay is safe.
_READ_AGAIN_AFTER = 60.0
#: Tokens are sent in a header, and servers accept 16 KiB of headers.
_LONGEST_TOKEN = 16_384
_TOKEN = re.compile(r"[\x21-\x7e]+")


class TokenFile(Credentials):
    """A bearer token from a file that is replaced from time to time. The last token is used while the file is unreadable."""

    def __init__(self, path: str, certificate: Credential | None = None) -> None:
        self._path = path
        self._certificate = certificate or Credential()
        self._credential: Credential | None = None
        self._read_at = 0.0
        self._lock = threading.Lock()

    def known(self) -> Credential | None:
        is_fresh = time.monotonic() - self._read_at < _READ_AGAIN_AFTER
        return self._credential if is_fresh else None

    def load(self, refused: Credential | None = None) -> Credential:
        with self._lock:
            try:
                token = self._read()
            except CredentialProblem:
                if self._credential is None:
                    raise
            else:
                other = self._certificate
                self._credential = Credential(f"Bearer {token}", other.certificate, other.key)
            self._read_at = time.monotonic()
            return self._credential

    def _read(self) -> str:
        try:
            with open(self._path, encoding="utf-8", errors="replace") as file:
                token = file.read(_LONGEST_TOKEN + 2).strip()
        except OSError as error:
            raise CredentialProblem(f'Cannot read the token file "{self._path}": {error.strerror}') from None
        if not token:
            raise CredentialProblem(f'Cannot use the token file "{self._path}": it is empty')
        if len(token) > _LONGEST_TOKEN or not _TOKEN.fullmatch(token):
            raise CredentialProblem(f'Cannot use the token file "{self._path}": it does not contain a bearer token')
        return token
