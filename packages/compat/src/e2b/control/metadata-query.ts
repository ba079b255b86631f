import type { Metadata } from "../../cluster/metadata.ts";
import { badRequest } from "../../http/http-error.ts";

/**
 * Decodes the `metadata` filter. Clients encode it three times: the query was decoded once, what is left is a list of form pairs,
 * whose keys and values are percent-encoded.
 */
export function parseMetadataQuery(text: string): Metadata {
  try {
    const pairs = [...new URLSearchParams(text)];
    return Object.fromEntries(pairs.map(([key, value]) => [decodeURIComponent(key), decodeURIComponent(value)]));
  } catch (cause) {
    throw Object.assign(badRequest("metadata cannot be decoded"), { cause });
  }
}
