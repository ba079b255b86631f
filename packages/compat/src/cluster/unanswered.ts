import { sandboxClaims } from "@agent-sandbox/api";
import { type Client, isReason, type Logger } from "@agent-sandbox/kube";
import { annotationOf, faceLabel, idempotencyLabel, sandboxUidAnnotation } from "./compat-annotations.ts";
import type { Directory } from "./directory.ts";

/** A create is answered within 55 s, by whichever instance received it. */
const answeredWithinMs = 120_000;

/** How long a claim with an idempotency key is kept. Clients repeat a request within minutes. */
const repeatedWithinMs = 24 * 3_600_000;

/**
 * Deletes claims that were created for a request which was never answered, because the server ended. No client knows their names. A
 * claim with an idempotency key is kept for a day: the client asks for it again.
 */
export async function removeUnanswered(
  client: Client,
  directory: Pick<Directory, "claims">,
  { log, now }: { readonly log: Logger; readonly now: number },
): Promise<void> {
  const lost = directory.claims.list().filter((claim) => {
    const { labels = {}, creationTimestamp = "" } = claim.metadata;
    const isAnswered = annotationOf(claim, sandboxUidAnnotation) !== undefined;
    const keptMs = labels[idempotencyLabel] === undefined ? answeredWithinMs : repeatedWithinMs;
    return labels[faceLabel] === "e2b" && !isAnswered && now - Date.parse(creationTimestamp) > keptMs;
  });
  for (const { metadata } of lost) {
    const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata;
    try {
      // A claim that was answered since it was read stays.
      await client.delete(sandboxClaims, { namespace, name }, { preconditions: { uid, resourceVersion } });
    } catch (error) {
      if (!isReason(error, "NotFound", "Conflict"))
        log.warn({ err: error, claim: `${namespace}/${name}` }, "claim not removed");
    }
  }
}
