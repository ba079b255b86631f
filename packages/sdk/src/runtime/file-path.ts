import { SandboxError } from "../errors.ts";

/**
 * The path as part of a URL. HTTP clients resolve `.` and `..` themselves, so this does it first: a path that leaves the root must be
 * an error and not another file.
 */
export function encodePath(path: string): string {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "..") {
      if (names.pop() === undefined)
        throw new SandboxError("Forbidden", `Cannot use path "${path}": it leaves the root`);
    } else if (name !== "" && name !== ".") names.push(encodeURIComponent(name));
  }
  return names.join("/");
}
