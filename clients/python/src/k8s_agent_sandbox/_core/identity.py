from __future__ import annotations

import os
from typing import NamedTuple


class SandboxIdentity(NamedTuple):
    """What a handle needs to know about its sandbox."""

    name: str
    namespace: str
    #: With it, a later sandbox of the same name does not get the requests.
    uid: str | None = None
    #: The claim that holds the sandbox. It is deleted instead of the sandbox.
    claim_name: str | None = None
    claim_uid: str | None = None
    #: Whether this program created the sandbox, so that the end of its `with` block deletes it.
    is_owned: bool = False


def new_request_id() -> str:
    """A new id of a request. Servers run repeated requests with the same id once."""
    return os.urandom(16).hex()


def random_suffix() -> str:
    return os.urandom(4).hex()
