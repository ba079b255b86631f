"""Checks claims whose name the caller chose."""

import re
from typing import Any

from .exceptions import SandboxNotFoundError

_MAX_LENGTH = 253
_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def validate_claim_name(name: str) -> None:
    """Raises ValueError if the API server would refuse the name."""
    if not isinstance(name, str) or len(name) > _MAX_LENGTH or not _DNS_NAME.fullmatch(name):
        raise ValueError(
            f"Claim name {name!r} is not a DNS name: want at most {_MAX_LENGTH} lower-case letters, digits, '-' and '.',"
            " with a letter or digit at both ends of each part"
        )


def validate_claim_for_adoption(claim: dict[str, Any] | None, claim_name: str, warmpool: str) -> None:
    """Raises an error unless the claim is of that pool, is not being deleted, and can be watched."""
    if claim is None:
        raise SandboxNotFoundError(f'SandboxClaim "{claim_name}" was deleted meanwhile: try again')
    metadata = claim.get("metadata") or {}
    if metadata.get("deletionTimestamp"):
        raise ValueError(f'SandboxClaim "{claim_name}" is being deleted')
    pool = ((claim.get("spec") or {}).get("warmPoolRef") or {}).get("name")
    if pool != warmpool:
        raise ValueError(f'SandboxClaim "{claim_name}" is of warm pool "{pool}", not of "{warmpool}"')
    for field in ("uid", "resourceVersion"):
        if not isinstance(metadata.get(field), str) or not metadata[field]:
            raise ValueError(f'SandboxClaim "{claim_name}" has no metadata.{field}')
