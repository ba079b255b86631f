"""Prints the reference of the package as Markdown: the names of `__all__` with signatures and docstrings.

It reads the sources and imports nothing, so it needs no installed dependency.
"""

import ast
import inspect
import sys
from pathlib import Path

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def module_file(folder: Path, parts: list[str]) -> Path:
    path = folder.joinpath(*parts)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def find(folder: Path, module: list[str], name: str) -> Definition | None:
    """The definition of a name, through any number of imports within the package."""
    file = module_file(folder, module)
    package = module if file.name == "__init__.py" else module[:-1]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, Definition) and node.name == name:
            return node
        if isinstance(node, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in node.names):
            original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
            source = (node.module or "").split(".") if node.module else []
            if node.level > 0:
                target = package[: len(package) - (node.level - 1)] + source
            elif source and source[0] == folder.name:
                target = source[1:]
            else:
                continue
            if (found := find(folder, target, original)) is not None:
                return found
    return None


def exported(folder: Path) -> list[str]:
    for node in ast.parse(module_file(folder, []).read_text()).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return [ast.literal_eval(element) for element in node.value.elts]  # type: ignore[attr-defined]
    raise SystemExit(f"{folder}/__init__.py has no __all__")


def has_decorator(node: ast.FunctionDef | ast.AsyncFunctionDef, *names: str) -> bool:
    return any(ast.unparse(decorator).endswith(names) for decorator in node.decorator_list)


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool) -> str:
    arguments = node.args
    if method and (first := (arguments.posonlyargs or arguments.args)):
        first.pop(0)
    result = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    if method and has_decorator(node, "property"):
        return f"{node.name}{result.replace(' -> ', ': ')}"
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{prefix}{node.name}({ast.unparse(arguments)}){result}"


def entry(text: str, documentation: str | None) -> str:
    if not documentation:
        return f"- `{text}`\n"
    return f"- `{text}`\\\n  " + documentation.replace("\n", "\n  ") + "\n"


def members(node: ast.ClassDef) -> str:
    text = ""
    for index, member in enumerate(node.body):
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            if member.name.startswith("_") or has_decorator(member, "overload", "classmethod"):
                continue
            text += entry(signature(member, method=True), ast.get_docstring(member))
        elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            if member.target.id.startswith("_"):
                continue
            following = node.body[index + 1] if index + 1 < len(node.body) else None
            text += entry(ast.unparse(member), docstring_after(following))
    return text


def docstring_after(node: ast.stmt | None) -> str | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return inspect.cleandoc(node.value.value)
    return None


def describe(name: str, node: Definition) -> str:
    documentation = ast.get_docstring(node) or ""
    text = f"{documentation}\n\n" if documentation else ""
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(f"`{ast.unparse(base)}`" for base in node.bases)
        extends = f"Extends {bases}.\n\n" if bases else ""
        return f"## {name}\n\n{text}{extends}{members(node)}"
    return f"## {name}\n\n```\n{signature(node, method=False)}\n```\n\n{text}"


#: Classes that are reached through a sandbox, and so are not exported.
REACHED = {"Commands": ["_sync", "commands"], "Files": ["_sync", "files"], "Ports": ["_sync", "ports"]}
FIRST = ["connect", "connect_async", "Client", "SandboxHandle", *REACHED, "Process", "CodeContext", "SandboxClient"]


def is_described_by_twin(name: str, names: list[str]) -> bool:
    """Whether a class is another one with coroutines."""
    return name.startswith("Async") and name.removeprefix("Async") in names


def rank(name: str) -> tuple[int, str]:
    if name in FIRST:
        return FIRST.index(name), name
    return len(FIRST) + name.endswith("Error"), name


def examples(folder: Path) -> str:
    text = "## Examples\n"
    for file in sorted(folder.glob("*.py")):
        first, code = file.read_text().split("\n", 1)
        text += f"\n{first.removeprefix('# ')}\n\n```python\n{code}```\n"
    return text


def main() -> None:
    root = Path(__file__).parent.parent
    folder = root / "src" / "k8s_agent_sandbox"
    names = [*exported(folder), *REACHED]
    parts = [
        examples(root / "examples"),
        "`AsyncClient`, `AsyncSandboxHandle` and the other classes whose names begin with `Async` have the same methods "
        "as coroutines.\n",
    ]
    for name in sorted(names, key=rank):
        if is_described_by_twin(name, names):
            continue
        node = find(folder, REACHED.get(name, []), name)
        if node is not None:
            parts.append(describe(name, node))
    sys.stdout.write("\n".join(parts))


if __name__ == "__main__":
    main()
