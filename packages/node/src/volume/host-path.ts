import { mkdir, realpath, stat, writeFile } from "node:fs/promises";
import { normalize } from "node:path";
import { messageOf, NodeError } from "../errors.ts";
import { matching, object, oneOf, refuse } from "../pod/field-rules.ts";
import type { VolumeKind } from "./volume-kind.ts";

const absolute = matching(/^\/[^\0]*$/, "an absolute path");

/** A folder or file of the machine; only where the node's operator allows it. */
export const hostPath: VolumeKind = {
  field: "hostPath",
  rule:
    ({ hostPaths }) =>
    (value, path) => {
      if (hostPaths.length === 0) return refuse(path, "is not allowed by this node's configuration");
      return object({
        path: absolute,
        type: oneOf("DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket"),
      })(value, path);
    },
  mount: async ({ hostPath: wanted }, { machine }) => {
    const path = normalize(wanted?.path ?? "");
    const checkAllowed = (real: string): void => {
      const { hostPaths } = machine.rules.allow;
      if (hostPaths.some((allowed) => isWithin(real, allowed))) return;
      throw new Error("it is not below a folder this node's configuration allows");
    };
    try {
      checkAllowed(path);
      if (wanted?.type === "DirectoryOrCreate") await mkdir(path, { recursive: true, mode: 0o755 });
      if (wanted?.type === "FileOrCreate") await writeFile(path, "", { flag: "a", mode: 0o644 });
      // Links are followed before the judgement: an allowed folder must not be a door to another.
      const real = await realpath(path);
      checkAllowed(real);
      const found = await stat(real);
      const kind = found.isDirectory() ? "Directory" : found.isFile() ? "File" : found.isSocket() ? "Socket" : "other";
      const type = wanted?.type?.replace("OrCreate", "") || kind;
      if (type !== kind) throw new Error(`it is no ${type}`);
      return { path: real };
    } catch (error) {
      throw new NodeError("FailedMount", `hostPath "${path}": ${messageOf(error)}`, { cause: error });
    }
  },
};

/** A folder may be written with a slash at its end; the root has nothing but one. */
function isWithin(path: string, folder: string): boolean {
  const bare = folder.replace(/\/+$/, "");
  return path === bare || path.startsWith(`${bare}/`);
}
