import { mkdir, realpath, writeFile } from "node:fs/promises";
import { dirname, normalize } from "node:path";
import { messageOf, NodeError } from "../errors.ts";
import { matching, object, oneOf, refuse } from "../pod/field-rules.ts";
import { openBeneath } from "../system/beneath.ts";
import { bindTree, mountsUnder } from "../system/mounts.ts";
import { RootView } from "../system/root-view.ts";
import type { VolumeKind } from "./volume-kind.ts";

const absolute = matching(/^\/[^\0]*$/, "an absolute path");

/** A folder or file of the machine, if the operator allows it. */
export const hostPath: VolumeKind = {
  field: "hostPath",
  rule:
    ({ hostPaths }) =>
    (value, path) => {
      if (hostPaths.length === 0) return refuse(path, "is not allowed by this node's configuration (allow.hostPaths)");
      return object({
        path: absolute,
        type: oneOf("DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket"),
      })(value, path);
    },
  mount: async ({ hostPath: wanted }, { machine, folder }) => {
    const path = normalize(wanted?.path ?? "").replace(/(?<=.)\/$/, "");
    try {
      if (!(await mountsUnder(folder)).includes(folder)) {
        await showPath(path, { type: wanted?.type ?? "", allowed: machine.rules.allow.hostPaths, folder });
      }
      return { path: folder };
    } catch (error) {
      throw new NodeError("FailedMount", `hostPath "${path}": ${messageOf(error)}`, { cause: error });
    }
  },
};

interface Wanted {
  readonly type: string;
  readonly allowed: readonly string[];
  readonly folder: string;
}

/**
 * Mounts a path of the machine. Pods that may write to an allowed folder can create links in it, so only links that stay inside
 * are followed, missing files are created through file descriptors, and the descriptor that was checked is mounted.
 */
async function showPath(path: string, { type, allowed, folder }: Wanted): Promise<void> {
  const root = allowed.map((one) => one.replace(/(?<=.)\/+$/, "")).find((one) => isWithin(path, one));
  if (root === undefined)
    throw new Error("it is not below a folder that this node's configuration allows (allow.hostPaths)");
  const real = await realpath(root);
  const missing =
    type === "DirectoryOrCreate" ? "make folder" : type === "FileOrCreate" ? "make file" : ("as written" as const);
  const inside = new RootView(real, "inside").resolve(path.slice(root.length), missing);
  await using handle = await openBeneath(real, inside);
  const found = await handle.stat();
  const kind = found.isDirectory() ? "Directory" : found.isFile() ? "File" : found.isSocket() ? "Socket" : "other";
  const asked = type.replace("OrCreate", "") || kind;
  if (asked !== kind) throw new Error(`it is not a ${asked}`);
  if (found.isDirectory()) await mkdir(folder, { recursive: true, mode: 0o700 });
  else {
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
    await writeFile(folder, "", { flag: "a", mode: 0o600 });
  }
  await bindTree(handle.fd, folder);
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}
