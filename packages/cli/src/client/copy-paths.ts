import { basename, posix } from "node:path";
import { CommandError } from "../command-error.ts";

/** A side of a copy: a local path, or a path in a sandbox. */
export type CopySide =
  | { readonly type: "local"; readonly path: string }
  | { readonly type: "sandbox"; readonly sandbox: string; readonly path: string };

/** `SANDBOX:PATH` names a path in a sandbox. A local path with a colon is written with a slash before it, as in `./a:b`. */
export function parseSide(text: string): CopySide {
  const colon = text.indexOf(":");
  if (text === "") throw new CommandError("Cannot copy an empty path");
  if (colon < 1 || text.slice(0, colon).includes("/")) return { type: "local", path: text };
  const path = text.slice(colon + 1);
  if (path === "") throw new CommandError(`Cannot copy "${text}": add the path, as in ${text}/tmp/file`);
  return { type: "sandbox", sandbox: text.slice(0, colon), path };
}

/** The path of an entry below the destination. Undefined: it would leave it. */
export function insideOf(entry: string, root: string): string | undefined {
  const path = posix.normalize(entry.replace(/\/+$/, ""));
  if (path === root) return "";
  if (!path.startsWith(`${root}/`) || path.includes("\0")) return undefined;
  return path.slice(root.length + 1);
}

/** The last part of a path, which names the copy. */
export function nameOf(path: string): string {
  const name = basename(path.replace(/\/+$/, "") || "/");
  if (name === "" || name === "." || name === "..") {
    throw new CommandError(`Cannot copy "${path}": name the file or folder itself`);
  }
  return name;
}
