"""Checks what a model passes to a tool. Not every framework does, and no model can be trusted to follow a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class InvalidArguments(ValueError):
    """The arguments do not match the schema of the tool. The message is for the model."""


def check(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments that are set. Knows the part of JSON schema that the tools use."""
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    unknown = sorted(str(name) for name in arguments if name not in properties)
    if unknown:
        raise InvalidArguments(f"Unknown parameter {unknown[0]!r}, expected {', '.join(properties)}")
    # Strict schemas make models send null for what they leave out.
    given = {name: value for name, value in arguments.items() if value is not None}
    for name in schema["required"]:
        if name not in given:
            raise InvalidArguments(f"Parameter {name!r} is missing")
    return {name: _value(name, value, properties[name]) for name, value in given.items()}


def _value(name: str, value: Any, rule: Mapping[str, Any]) -> Any:
    return _integer(name, value, rule) if rule["type"] == "integer" else _string(name, value, rule)


def _integer(name: str, value: Any, rule: Mapping[str, Any]) -> int:
    # JSON does not distinguish 5 and 5.0. In Python, True is an int.
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not is_whole or isinstance(value, bool):
        raise InvalidArguments(f"Parameter {name!r} must be a whole number")
    if "minimum" in rule and value < rule["minimum"]:
        raise InvalidArguments(f"Parameter {name!r} must be at least {rule['minimum']}")
    if "maximum" in rule and value > rule["maximum"]:
        raise InvalidArguments(f"Parameter {name!r} must be at most {rule['maximum']}")
    return int(value)


def _string(name: str, value: Any, rule: Mapping[str, Any]) -> str:
    if not isinstance(value, str):
        raise InvalidArguments(f"Parameter {name!r} must be a string")
    if "enum" in rule and value not in rule["enum"]:
        raise InvalidArguments(f"Parameter {name!r} must be one of {', '.join(rule['enum'])}")
    if len(value) < rule.get("minLength", 0):
        raise InvalidArguments(f"Parameter {name!r} must not be empty")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArguments(f"Parameter {name!r} is not valid Unicode") from None
    return value
