import { integerField, textField } from "../../http/fields.ts";
import type { JsonObject } from "../../http/read-body.ts";
import { callProcess } from "../../runtime/process-calls.ts";
import type { ExecdCall } from "./context.ts";
import { invalidRequest, runtimeFailure } from "./execd-error.ts";
import { octalOf } from "./file-info.ts";

/** The mode and the owner that a client wants for a file. */
export interface Permission {
  /** In octal digits. */
  readonly mode: string | undefined;
  readonly owner: string | undefined;
}

const account = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;

export function readPermission(from: JsonObject): Permission {
  const mode = integerField(from, "mode");
  const [owner, group] = ["owner", "group"].map((field) => {
    const name = textField(from, field) || undefined;
    if (name !== undefined && !account.test(name)) throw invalidRequest(`${field} is not a name or an id`);
    return name;
  });
  const both = `${owner ?? ""}${group === undefined ? "" : `:${group}`}`;
  return { mode: mode === undefined || mode === 0 ? undefined : octalOf(mode), owner: both || undefined };
}

/** Changes the owner of a file with the program of the image, which knows the names. */
export async function changeOwner({ context, target, signal }: ExecdCall, path: string, owner: string): Promise<void> {
  const message = { config: { command: ["chown", "-h", "--", owner, path] }, maxOutputBytes: 4096 };
  const { exitCode = 0, stderr = "" } = await callProcess<{ exitCode?: number; stderr?: string }>(
    context.runtime,
    target,
    "Execute",
    message,
    signal,
  );
  if (exitCode !== 0) throw runtimeFailure(Buffer.from(stderr, "base64").toString("utf8").trim() || "chown failed");
}
