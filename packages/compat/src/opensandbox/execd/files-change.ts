import { textField } from "../../http/fields.ts";
import { readJsonList, readJsonObject } from "../../http/read-body.ts";
import { sendEmpty } from "../../http/reply.ts";
import { RuntimeError } from "../../runtime/rest.ts";
import type { ExecdCall } from "./context.ts";
import { filesOf, objectOf, requiredPaths } from "./files-read.ts";
import { changeOwner, type Permission, readPermission } from "./ownership.ts";
import { pathsOf } from "./paths.ts";

const maxBytes = 4 * 1024 * 1024;

/** `POST /directories`: creates directories and their parents. */
export async function makeDirectories(call: ExecdCall): Promise<void> {
  const files = filesOf(call);
  for (const [path, permission] of await readPermissions(call)) {
    await files.makeDirectory(path, permission.mode);
    await apply(call, path, permission);
  }
  sendEmpty(call.response, 200);
}

/** `POST /files/permissions` */
export async function setPermissions(call: ExecdCall): Promise<void> {
  const files = filesOf(call);
  for (const [path, permission] of await readPermissions(call)) {
    await files.stat(path, { follow: false });
    await apply(call, path, permission);
  }
  sendEmpty(call.response, 200);
}

/** The paths of a request as absolute paths, each with what it asks for. Nothing is changed if one of them is invalid. */
async function readPermissions(call: ExecdCall): Promise<readonly (readonly [string, Permission])[]> {
  const body = await readJsonObject(call.request, maxBytes);
  const paths = await pathsOf(call);
  return Object.entries(body).map(([path, value]) => [paths.resolve(path), readPermission(objectOf(path, value))]);
}

async function apply(call: ExecdCall, path: string, { mode, owner }: Permission): Promise<void> {
  if (owner !== undefined) await changeOwner(call, path, owner);
  // A change of the owner may have changed it.
  if (mode !== undefined) await filesOf(call).changeMode(path, mode);
}

/** `DELETE /files?path=…`. A file that does not exist is not an error. */
export const deleteFiles = (call: ExecdCall): Promise<void> => remove(call, { recursive: false });

/** `DELETE /directories?path=…`, with everything in them. */
export const deleteDirectories = (call: ExecdCall): Promise<void> => remove(call, { recursive: true });

async function remove(call: ExecdCall, how: { readonly recursive: boolean }): Promise<void> {
  const requested = requiredPaths(call);
  const paths = await pathsOf(call);
  const files = filesOf(call);
  for (const path of requested.map((one) => paths.resolve(one))) {
    await files.remove(path, how).catch((error: unknown) => {
      if (!(error instanceof RuntimeError) || error.status !== 404) throw error;
    });
  }
  sendEmpty(call.response, 200);
}

/** `POST /files/mv`: a list of `{src, dest}`. An existing file is replaced. */
export async function moveFiles(call: ExecdCall): Promise<void> {
  const moves = await readJsonList(call.request, maxBytes);
  const paths = await pathsOf(call);
  const wanted = moves.map((value, index) => {
    const move = objectOf(String(index), value);
    return ["src", "dest"].map((field) => paths.resolve(textField(move, field) ?? ""));
  });
  const files = filesOf(call);
  for (const [from = "", to = ""] of wanted) await files.move(from, to);
  sendEmpty(call.response, 200);
}
