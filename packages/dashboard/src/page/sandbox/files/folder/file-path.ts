/** Paths below the root that the runtime serves, as in `notes/today.txt`. The root is the empty text. Pure. */
import { cleanText } from "../../../components/clean-text.ts";

/** Limit of Linux. */
export const mostNameBytes = 255;

export function joinPath(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The folder that an address names. Anybody can write the address: a path that leaves the root is the root. */
export function readFolder(text: string): string {
  const names: string[] = [];
  for (const name of text.toWellFormed().split("/")) {
    if (name === "..") {
      if (names.pop() === undefined) return "";
    } else if (name !== "" && name !== ".") names.push(name);
  }
  return names.join("/");
}

export interface Crumb {
  readonly name: string;
  readonly path: string;
}

/** The folders above a folder and itself, without the root. */
export function crumbsOf(folder: string): Crumb[] {
  const names = folder === "" ? [] : folder.split("/");
  return names.map((name, index) => ({ name, path: names.slice(0, index + 1).join("/") }));
}

/** Why a file cannot have this name; undefined if it can. */
export function nameProblem(name: string): string | undefined {
  if (name === "") return "Write a name";
  if (name === "." || name === "..") return `"${name}" is not a name`;
  if (name.includes("/")) return "A name has no slashes";
  if (name.includes("\0") || !name.isWellFormed()) return "A name has no such characters";
  if (new TextEncoder().encode(name).length > mostNameBytes) return `A name has at most ${mostNameBytes} bytes`;
  return undefined;
}

/** A name as people see it. What could hide or reorder text is written as an escape, so that different names look different. */
export function shownName(name: string): string {
  if (cleanText(name) === name) return name;
  return Array.from(name, (character) => (cleanText(character) === character ? character : escapeOf(character))).join(
    "",
  );
}

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escapeOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return shortEscapes[character] ?? `\\u${code.length > 4 ? `{${code}}` : code.padStart(4, "0")}`;
}

/** The runtime sends this character in place of bytes that are not UTF-8. Such a file cannot be named in a request. */
export function isNameBroken(name: string): boolean {
  return name.includes("\ufffd");
}
