"""The messages of `process.v1.ProcessService/Execute` in the binary form of protobuf, for servers that have only gRPC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .._core.results import CommandResult

EXECUTE_METHOD = "/process.v1.ProcessService/Execute"

# Numbers of fields, from process.proto.
_CONFIG = 1
_COMMAND, _ENV, _CWD = 1, 2, 3
_EXIT_CODE, _STDOUT, _STDERR = 1, 2, 3

_LENGTH_DELIMITED = 2


def execute_request(command: Sequence[str], env: Mapping[str, str] | None, cwd: str | None) -> bytes:
    """An ExecuteRequest."""
    config = b"".join(_field(_COMMAND, word.encode()) for word in command)
    for name, value in (env or {}).items():
        config += _field(_ENV, _field(1, name.encode()) + _field(2, value.encode()))
    if cwd:
        config += _field(_CWD, cwd.encode())
    return _field(_CONFIG, config)


def execute_result(response: bytes) -> CommandResult:
    """Reads an ExecuteResponse. Raises ValueError if it is something else."""
    values: dict[int, int | bytes] = dict(_fields(response))
    code, out, err = values.get(_EXIT_CODE, 0), values.get(_STDOUT, b""), values.get(_STDERR, b"")
    if not isinstance(code, int) or not isinstance(out, bytes) or not isinstance(err, bytes):
        raise ValueError("The fields of the response have other types")
    # A negative code is sent as 64 bits.
    exit_code = code - (1 << 64) if code >= 1 << 63 else code
    return CommandResult(out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), exit_code)


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The numbers and values of fields. Those of other wire types are not part of the messages."""
    position = 0
    while position < len(message):
        key, position = _read_varint(message, position)
        value, position = _read_varint(message, position)
        if key & 7 == 0:
            yield key >> 3, value
        elif key & 7 == _LENGTH_DELIMITED and position + value <= len(message):
            yield key >> 3, message[position : position + value]
            position += value
        else:
            raise ValueError("The response is not an ExecuteResponse")


def _read_varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            break
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("The response ends within a number")
