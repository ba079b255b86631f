import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { canonicalJson, type SandboxClaim, sandboxClaims } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube";
import { annotationOf, requestHashAnnotation, sandboxUidAnnotation } from "../../cluster/compat-annotations.ts";
import { find, isEnding } from "../../cluster/machine.ts";
import { nameFor } from "../../cluster/names.ts";
import { badRequest, HttpError } from "../../http/http-error.ts";
import type { JsonObject } from "../../http/read-body.ts";
import type { Account } from "../../keys/accounts.ts";

/** Identifies a request that may be sent again after a lost answer. */
export interface RequestKey {
  readonly key: string;
  readonly request: string;
  /** The claim's name. All attempts choose the same, so the API server lets only one of them create it. */
  readonly claim: string;
}

const hash = (...parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 40);

/** Undefined without the header `Idempotency-Key`. */
export function requestKeyOf(
  header: string | string[] | undefined,
  { user, namespace }: Account,
  body: JsonObject,
): RequestKey | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== "string" || !/^[a-z0-9-]{1,255}$/.test(header)) {
    throw badRequest("Idempotency-Key must have 1 to 255 lower-case letters, digits and hyphens");
  }
  return {
    key: hash(user.username, header),
    request: hash(canonicalJson(body)),
    claim: nameFor(JSON.stringify([namespace, user.username, header])),
  };
}

const betweenLooksMs = 200;

/** The claim of this request, or of an earlier attempt of it. Throws 409 if that request was another one. */
export async function claimOnce(
  { client, namespace }: Account,
  key: RequestKey,
  { create, signal }: { readonly create: () => Promise<SandboxClaim>; readonly signal: AbortSignal },
): Promise<SandboxClaim> {
  while (!signal.aborted) {
    const earlier = await find(client, sandboxClaims, { namespace, name: key.claim });
    if (earlier !== undefined && !isEnding(earlier)) return requireSame(earlier, key);
    try {
      if (earlier === undefined) return await create();
    } catch (error) {
      if (isReason(error, "AlreadyExists")) continue;
      throw error;
    }
    // The sandbox of an earlier attempt is being deleted.
    await sleep(betweenLooksMs, undefined, { signal }).catch(() => undefined);
  }
  throw new HttpError(503, "The sandbox of an earlier attempt is still being deleted");
}

function requireSame(earlier: SandboxClaim, { request }: RequestKey): SandboxClaim {
  if (annotationOf(earlier, requestHashAnnotation) === request) return earlier;
  throw new HttpError(409, "The Idempotency-Key was used for another request");
}

/** Whether a client may have received the name of the sandbox. */
export function wasAnswered(claim: SandboxClaim): boolean {
  return annotationOf(claim, sandboxUidAnnotation) !== undefined;
}
