import type { Call } from "../caller.ts";
import { createSandbox } from "./create-sandbox.ts";
import { findSandbox } from "./find-sandbox.ts";
import type { FoundSandbox } from "./found-sandbox.ts";
import { expiryOf, setExpiry } from "./lifetime.ts";
import { ownerOf } from "./owner.ts";

const lifeSeconds = 86_400;
const startMs = 60_000;
const suspendAfterSeconds = 900;

/**
 * The sandbox of calls that name none. It is created when it is first needed, suspended while nothing runs in it, and deleted a
 * day after its last use.
 */
export async function defaultSandbox(call: Call, namespace: string): Promise<FoundSandbox> {
  const name = `mcp-${ownerOf(call.caller)}`;
  const found = await findSandbox(call, { namespace, name });
  if (found !== undefined) {
    const expiresAt = expiryOf(found);
    // A write for every call would be too many.
    const isOld = expiresAt !== undefined && expiresAt.getTime() - Date.now() < (lifeSeconds / 2) * 1000;
    if (isOld) await setExpiry(call, found, lifeSeconds);
    if (found.object !== undefined) return found;
  }
  const wanted = {
    name,
    timeoutSeconds: lifeSeconds,
    onTimeout: "delete",
    waitMs: startMs,
    suspendAfterSeconds,
  } as const;
  return createSandbox(call, namespace, wanted);
}
