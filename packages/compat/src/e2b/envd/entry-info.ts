import { posix } from "node:path";
import type { FileInfo } from "../../runtime/file-calls.ts";
import type { OwnerNames } from "../../runtime/users.ts";

const typeByType = { file: "FILE_TYPE_FILE", directory: "FILE_TYPE_DIRECTORY", symlink: "FILE_TYPE_SYMLINK" } as const;

/** The bits of `st_mode` for the kinds of files that clients know. */
const kindBits = { file: 0o100_000, directory: 0o040_000, symlink: 0o120_000 } as const;
const kindLetters = { file: "-", directory: "d", symlink: "L" } as const;

type Known = keyof typeof typeByType;

/** `EntryInfo` of E2B. `path` is the path as the client requested it. */
export function entryInfo(info: FileInfo, names: OwnerNames, path: string = info.path): object {
  const known = Object.hasOwn(typeByType, info.type) ? (info.type as Known) : undefined;
  const mode = Number.parseInt(info.mode, 8);
  return {
    name: posix.basename(path) || "/",
    type: known === undefined ? "FILE_TYPE_UNSPECIFIED" : typeByType[known],
    path,
    size: String(info.size),
    mode: mode | (known === undefined ? 0 : kindBits[known]),
    permissions: permissions(mode, known === undefined ? "?" : kindLetters[known]),
    owner: names.user(info.uid),
    group: names.group(info.gid),
    modifiedTime: info.modified_at,
    metadata: info.attributes ?? {},
    ...(info.target !== undefined && { symlinkTarget: info.target }),
  };
}

/** As in `drwxr-xr-x`. */
function permissions(mode: number, kind: string): string {
  const letters = ["r", "w", "x"];
  const bits = Array.from({ length: 9 }, (_, index) => ((mode >> (8 - index)) & 1 ? letters[index % 3] : "-"));
  return kind + bits.join("");
}
