"""Prints the public names of the installed package k8s_agent_sandbox as JSON: one line of text for each fact.

A fact is a path such as `sandbox.Sandbox.terminate(timeout)` and a description of it. `surface.py` compares them.
With --all, names that modules only import are facts too.
"""

import ast
import enum
import importlib
import inspect
import json
import logging
import pkgutil
import sys
import textwrap
import typing
from types import ModuleType
from typing import Any

PACKAGE = "k8s_agent_sandbox"
# Methods with these names are part of the interface of a class.
PROTOCOLS = {"__init__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__iter__", "__aiter__"}
Facts = dict[str, Any]


def describe_package(is_complete: bool) -> Facts:
    """The facts of all public modules. Fails if one of them cannot be imported."""
    root = importlib.import_module(PACKAGE)
    names = [module.name for module in pkgutil.walk_packages(root.__path__, f"{PACKAGE}.")]
    facts: Facts = {}
    for name in [PACKAGE, *names]:
        path = name.removeprefix(PACKAGE).removeprefix(".")
        if not any(part.startswith("_") for part in path.split(".")):
            facts |= describe_module(importlib.import_module(name), path, is_complete)
    return facts


def describe_module(module: ModuleType, path: str, is_complete: bool) -> Facts:
    """The names that a module defines, and all names of the `__init__` of a package. With `is_complete`, all that it has."""
    facts: Facts = {path or "(package)": {"kind": "module"}}
    prefix = f"{path}." if path else ""
    wanted = {*dir(module), *getattr(module, "__all__", ())} if is_complete else defined_in(module)
    for name in sorted(wanted):
        value = getattr(module, name, None)
        is_variable = isinstance(value, (typing.TypeVar, typing.ParamSpec, logging.Logger))
        if not name.startswith("_") and not is_variable:
            facts |= describe(value, f"{prefix}{name}")
    return facts


def defined_in(module: ModuleType) -> set[str]:
    """Names of classes, functions and variables of a module. A package also has what its `__init__` imports from inside."""
    names = set(getattr(module, "__all__", ()))
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom) and node.level > 0 and hasattr(module, "__path__"):
            names |= {alias.asname or alias.name for alias in node.names}
    return {name for name in names if hasattr(module, name)}


def is_alias(value: Any) -> bool:
    """Whether a value is a union of our models."""
    return any(getattr(part, "__module__", "").startswith(PACKAGE) for part in typing.get_args(value))


def describe(value: Any, path: str) -> Facts:
    if isinstance(value, ModuleType):
        return {path: {"kind": "object"}}
    if inspect.isclass(value):
        return describe_class(value, path)
    if callable(value) and not is_alias(value):
        return describe_callable(value, path)
    if is_alias(value):
        return {path: {"kind": "union", "of": sorted(part.__name__ for part in typing.get_args(value))}}
    if isinstance(value, (str, int, float, bool, tuple, list, set, frozenset)):
        return {path: {"kind": "constant", "value": sorted(value) if isinstance(value, (set, frozenset)) else value}}
    return {path: {"kind": "object"}}


def describe_class(value: type, path: str) -> Facts:
    ancestors = [each.__name__ for each in value.__mro__[1:] if each.__name__ not in ("object", "Generic")]
    facts: Facts = {path: {"kind": "class", "bases": ancestors}}
    fields = getattr(value, "model_fields", None)
    if isinstance(fields, dict):
        return facts | describe_model(value, fields, path)
    for name in sorted({each for base in value.__mro__ for each in vars(base) if base is not object}):
        if name.startswith("_") and name not in PROTOCOLS:
            continue
        member = inspect.getattr_static(value, name)
        if isinstance(member, (staticmethod, classmethod)):
            member = member.__func__
        if isinstance(member, property):
            facts[f"{path}.{name}"] = {"kind": "attribute"}
        elif inspect.isfunction(member):
            facts |= describe_callable(member, f"{path}.{name}")
        elif not isinstance(member, enum.Enum) and not is_inherited_builtin(value, name):
            facts[f"{path}.{name}"] = {"kind": "attribute"}
    for name in assigned_in(value):
        facts.setdefault(f"{path}.{name}", {"kind": "attribute"})
    return facts


def is_inherited_builtin(value: type, name: str) -> bool:
    return any(name in vars(base) for base in value.__mro__ if base.__module__ in ("builtins", "typing", "abc"))


def describe_model(value: type, fields: dict[str, Any], path: str) -> Facts:
    facts: Facts = {}
    for name, field in fields.items():
        default = "required" if field.is_required() else repr(field.get_default(call_default_factory=True))
        shown = {"default": default, "type": type_name(field.annotation), "alias": field.serialization_alias}
        facts[f"{path}.{name}"] = {"kind": "field", **shown}
    for name, member in vars(value).items():
        function = getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function):
            facts |= describe_callable(function, f"{path}.{name}")
    return facts


def type_name(annotation: Any) -> str:
    """`Optional[int]`, `Union[int, None]` and `int | None` are the same type."""
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Union or type(annotation).__name__ == "UnionType":
        return " | ".join(sorted(type_name(each) for each in arguments))
    return getattr(annotation, "__name__", str(annotation)) if not arguments else str(annotation)


def describe_callable(value: Any, path: str) -> Facts:
    facts: Facts = {path: {"kind": "coroutine" if inspect.iscoroutinefunction(value) else "function"}}
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return facts
    names = [each for each in parameters if each.name not in ("self", "cls")]
    for position, parameter in enumerate(names):
        default = None if parameter.default is inspect.Parameter.empty else repr(parameter.default)
        shown = {"how": parameter.kind.name, "position": position, "default": default}
        facts[f"{path}({parameter.name})"] = {"kind": "parameter", **shown}
    return facts


def assigned_in(value: type) -> set[str]:
    """Public attributes that `__init__` of the class or of one of its bases in this package sets."""
    names: set[str] = set()
    for base in value.__mro__:
        if not base.__module__.startswith(PACKAGE) or "__init__" not in vars(base):
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(vars(base)["__init__"])))
        except (OSError, TypeError):
            continue
        for node in ast.walk(tree):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
            for target in (inner for each in targets for inner in ast.walk(each)):
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                    names.add(target.attr)
    return {name for name in names if not name.startswith("_")}


if __name__ == "__main__":
    json.dump(describe_package("--all" in sys.argv), sys.stdout, indent=0, sort_keys=True, default=repr)
