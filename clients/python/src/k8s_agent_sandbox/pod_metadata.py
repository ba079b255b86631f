"""Checks labels by the rules of Kubernetes."""

import re

from .models import AdditionalPodMetadata

LABEL_NAME_MAX_LENGTH = 63
LABEL_PREFIX_MAX_LENGTH = 253

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def validate_label_name(name: str, context: str) -> None:
    """Raises ValueError if a name or a value of a label is not valid. `context` describes it in the message."""
    if len(name) > LABEL_NAME_MAX_LENGTH:
        raise ValueError(f"Label {context} is longer than {LABEL_NAME_MAX_LENGTH} characters: {name!r}")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"Label {context} must be letters, digits, '-', '_' and '.', with a letter or digit at both ends: {name!r}"
        )


def validate_labels(labels: dict[str, str]) -> None:
    """Raises ValueError if a key or a value is not valid. A key is a name, or a DNS name, a slash and a name."""
    for key, value in labels.items():
        if not key:
            raise ValueError("Label key is empty")
        prefix, slash, name = key.rpartition("/")
        if slash:
            if len(prefix) > LABEL_PREFIX_MAX_LENGTH or not _PREFIX.fullmatch(prefix):
                raise ValueError(f"Label key {key!r} must have a DNS name of up to {LABEL_PREFIX_MAX_LENGTH} characters first")
            if not name:
                raise ValueError(f"Label key {key!r} has no name after the slash")
        validate_label_name(name, f"key {key!r}")
        if value:
            validate_label_name(value, f"value of {key!r}")


def build_pod_metadata(pod_labels: dict[str, str] | None, pod_annotations: dict[str, str] | None) -> AdditionalPodMetadata | None:
    """Returns what the claim of a sandbox says about its Pod, or None if there is nothing to say.

    The server allows fewer labels than this check.
    """
    if pod_labels:
        validate_labels(pod_labels)
    if not pod_labels and not pod_annotations:
        return None
    return AdditionalPodMetadata(labels=pod_labels or None, annotations=pod_annotations or None)
