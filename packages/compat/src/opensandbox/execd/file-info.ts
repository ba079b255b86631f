import type { FileInfo } from "../../runtime/file-calls.ts";
import type { OwnerNames } from "../../runtime/users.ts";
import { invalidRequest } from "./execd-error.ts";

/** `FileInfo` of OpenSandbox. `path` is the path as the client requested it. */
export function fileInfoJson(info: FileInfo, names: OwnerNames, path: string = info.path): object {
  const { type, size, modified_at } = info;
  const known = type === "file" || type === "directory" || type === "symlink";
  return {
    path,
    size,
    modified_at,
    // The time of creation is not known.
    created_at: modified_at,
    owner: names.user(info.uid),
    group: names.group(info.gid),
    mode: modeOf(info.mode),
    type: known ? type : "other",
  };
}

/** Modes are octal digits that are written as a decimal number: 644 is `rw-r--r--`. */
export const modeOf = (octal: string): number => Number(octal);

/** Such a number as octal digits. */
export function octalOf(mode: number): string {
  const digits = String(mode);
  if (!/^[0-7]{1,4}$/.test(digits)) throw invalidRequest("mode must be written in octal digits, such as 644");
  return digits.padStart(4, "0");
}
