import { createHash } from "node:crypto";
import { canonicalJson, type SandboxClaim, sandboxClaims } from "@agent-sandbox/api";
import { annotationOf, idempotencyLabel, requestHashAnnotation } from "../../cluster/compat-annotations.ts";
import { badRequest, HttpError } from "../../http/http-error.ts";
import type { JsonObject } from "../../http/read-body.ts";
import type { Account } from "../../keys/accounts.ts";

/** Identifies a request that may be sent again after a lost answer. */
export interface RequestKey {
  readonly key: string;
  readonly request: string;
}

const validMs = 24 * 3_600_000;

const hash = (...parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 40);

/** Undefined without the header `Idempotency-Key`. */
export function requestKeyOf(
  header: string | string[] | undefined,
  { user }: Account,
  body: JsonObject,
): RequestKey | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== "string" || !/^[a-z0-9-]{1,255}$/.test(header)) {
    throw badRequest("Idempotency-Key must have 1 to 255 lower-case letters, digits and hyphens");
  }
  return { key: hash(user.username, header), request: hash(canonicalJson(body)) };
}

/** The claim that an earlier attempt of the request created. Throws 409 if that request was another one. */
export async function findEarlier(
  { client, namespace }: Account,
  { key, request }: RequestKey,
  now: number,
): Promise<SandboxClaim | undefined> {
  const { items } = await client.list(sandboxClaims, { namespace, labelSelector: `${idempotencyLabel}=${key}` });
  const earlier = items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .filter(({ metadata }) => now - Date.parse(metadata.creationTimestamp ?? "") < validMs)
    // Two attempts at the same time may both have created one: every attempt must choose the same.
    .toSorted((a, b) => order(a).localeCompare(order(b)))[0];
  if (earlier !== undefined && annotationOf(earlier, requestHashAnnotation) !== request) {
    throw new HttpError(409, "The Idempotency-Key was used for another request");
  }
  return earlier;
}

const order = ({ metadata }: SandboxClaim): string => `${metadata.creationTimestamp} ${metadata.name}`;
