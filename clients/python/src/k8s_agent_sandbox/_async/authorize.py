from __future__ import annotations

import re

from .._aio import run_blocking, value_of
from .._core.discover import Token
from .._kube.credentials import Credential, CredentialProblem, Credentials
from ..exceptions import SandboxRequestError


class AsyncAuthorizer:
    """The credential of requests: a token of the caller, or the credentials of the kubeconfig."""

    def __init__(self, credentials: Credentials, token: Token | None) -> None:
        self._credentials = credentials
        self._token = token

    async def credential(self, refused: Credential | None = None) -> Credential:
        """The present one. `refused` is one that the server has rejected."""
        if self._token is not None:
            token = self._token if isinstance(self._token, str) else await value_of(self._token)
            return _checked(Credential(authorization=f"Bearer {token}"))
        known = None if refused is not None else self._credentials.known()
        if known is not None:
            return _checked(known)
        try:
            return _checked(await run_blocking(lambda: self._credentials.load(refused)))
        except CredentialProblem as problem:
            raise SandboxRequestError(str(problem), reason="Unauthenticated") from None

    async def for_router(self, refused: Credential | None = None) -> Credential:
        """Like `credential`. The router accepts tokens only."""
        found = await self.credential(refused)
        if found.authorization is None:
            hint = "pass the option token"
            text = f"Cannot authenticate to the router: the kubeconfig has no token; {hint}"
            raise SandboxRequestError(text, reason="Unauthenticated")
        return found


_HEADER_VALUE = re.compile(r"[\x20-\x7e]*")


def _checked(credential: Credential) -> Credential:
    """HTTP libraries show an invalid header in their errors, so a credential must not be one."""
    if credential.authorization is not None and not _HEADER_VALUE.fullmatch(credential.authorization):
        text = "Cannot use the token: it contains characters that a header cannot have"
        raise SandboxRequestError(text, reason="Unauthenticated")
    return credential
