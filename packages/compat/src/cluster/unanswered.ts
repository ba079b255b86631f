import { sandboxClaims } from "@agent-sandbox/api";
import { type Client, isReason, type Logger } from "@agent-sandbox/kube";
import { annotationOf, faceLabel, idempotencyLabel, sandboxUidAnnotation } from "./compat-annotations.ts";
import type { Directory } from "./directory.ts";

/** A create is answered within 55 s, by whichever instance received it. */
const answeredWithinMs = 120_000;

/**
 * Deletes claims that were created for a request which was never answered, because the server ended. No client knows their names. A
 * claim with an idempotency key is kept: the client asks for it again.
 */
export async function removeUnanswered(client: Client, directory: Directory, log: Logger): Promise<void> {
  const now = Date.now();
  const lost = directory.claims.list().filter((claim) => {
    const { labels = {}, creationTimestamp = "" } = claim.metadata;
    const isOurs = labels[faceLabel] === "e2b" && labels[idempotencyLabel] === undefined;
    const isAnswered = annotationOf(claim, sandboxUidAnnotation) !== undefined;
    return isOurs && !isAnswered && now - Date.parse(creationTimestamp) > answeredWithinMs;
  });
  for (const { metadata } of lost) {
    const { namespace = "", name = "", uid = "" } = metadata;
    try {
      await client.delete(sandboxClaims, { namespace, name }, { preconditions: { uid } });
    } catch (error) {
      if (!isReason(error, "NotFound", "Conflict"))
        log.warn({ err: error, claim: `${namespace}/${name}` }, "claim not removed");
    }
  }
}
