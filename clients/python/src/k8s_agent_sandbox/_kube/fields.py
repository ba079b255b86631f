from __future__ import annotations

import base64
import binascii
import json
import os
from typing import Any


class ConfigProblem(Exception):
    """A configuration error, described for people. Never leaves this package."""


#: The booleans of YAML 1.1, which Kubernetes' parser accepts.
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class Fields:
    """A mapping in a configuration file that knows its position for error messages."""

    def __init__(self, file: str, values: Any, where: str = "") -> None:
        if not isinstance(values, dict):
            what = where or "its content"
            raise ConfigProblem(f'Cannot use kubeconfig "{file}": {what} is {_describe(values)}, it must be a mapping')
        self.file = file
        self._where = where
        self._values: dict[Any, Any] = values

    @staticmethod
    def parse(file: str, text: str) -> Fields:
        try:
            # The kubeconfig of a box is JSON, so that PyYAML is not needed.
            return Fields(file, json.loads(text))
        except (ValueError, RecursionError):
            pass
        import yaml

        try:
            # Every scalar is text: in a kubeconfig, `token: 0123` and `name: yes` are strings.
            content = yaml.load(text, Loader=yaml.BaseLoader)
        except (yaml.YAMLError, RecursionError) as error:
            raise ConfigProblem(f'Cannot parse kubeconfig "{file}": {_first_line(error)}') from None
        return Fields(file, content or {})

    def text(self, field: str) -> str | None:
        value = self._values.get(field)
        if value is None or value in ("", "null", "~"):
            return None
        if isinstance(value, bool):
            return str(value).lower()
        if not isinstance(value, str):
            raise self.problem(field, f"is {_describe(value)}, it must be text")
        return value

    def require(self, field: str) -> str:
        value = self.text(field)
        if value is None:
            raise self.problem(field, "is missing")
        return value

    def flag(self, field: str) -> bool:
        text = self.text(field)
        if text is None:
            return False
        if text.lower() not in _BOOLEANS:
            raise self.problem(field, f'is "{text}", it must be true or false')
        return _BOOLEANS[text.lower()]

    def texts(self, field: str) -> list[str]:
        found = self._list(field)
        for index, value in enumerate(found):
            if not isinstance(value, str):
                raise self.problem(f"{field}[{index}]", f"is {_describe(value)}, it must be text")
        return found

    def child(self, field: str) -> Fields | None:
        value = self._values.get(field)
        return None if value is None or value == "" else Fields(self.file, value, self._path(field))

    def children(self, field: str) -> list[Fields]:
        return [Fields(self.file, value, self._path(f"{field}[{index}]")) for index, value in enumerate(self._list(field))]

    def names(self) -> list[str]:
        return [str(name) for name in self._values]

    def path(self, field: str) -> str | None:
        """A path relative to the file that contains it."""
        text = self.text(field)
        return None if text is None else os.path.join(os.path.dirname(self.file), text)

    def pem(self, field: str) -> str | None:
        """A PEM from `<field>-data` in base64, or from the file in `<field>`. The data takes precedence, as in kubectl."""
        data, path = self.text(f"{field}-data"), self.path(field)
        if data is not None:
            try:
                text = base64.b64decode("".join(data.split()), validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                raise self.problem(f"{field}-data", "is not valid base64") from None
        elif path is not None:
            try:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
            except (OSError, UnicodeDecodeError) as error:
                raise self.problem(field, f"cannot be read: {error}") from None
        else:
            return None
        if "-----BEGIN " not in text:
            raise self.problem(field, "does not contain a PEM block (-----BEGIN ...)")
        return text

    def problem(self, field: str, state: str) -> ConfigProblem:
        return ConfigProblem(f'Cannot use kubeconfig "{self.file}": {self._path(field)} {state}')

    def _list(self, field: str) -> list[Any]:
        value = self._values.get(field)
        if value is None or value == "":
            return []
        if not isinstance(value, list):
            raise self.problem(field, f"is {_describe(value)}, it must be a list")
        return value

    def _path(self, field: str) -> str:
        return f"{self._where}.{field}" if self._where else field


def _describe(value: object) -> str:
    if isinstance(value, list):
        return "a list"
    # Never the value itself: it may be a credential in the wrong place.
    return "a mapping" if isinstance(value, dict) else "a text" if isinstance(value, str) else "not a text"


def _first_line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it is not valid YAML"
    return problem if mark is None else f"{problem} (line {mark.line + 1})"
