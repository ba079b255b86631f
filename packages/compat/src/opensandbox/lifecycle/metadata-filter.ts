import type { Metadata } from "../../cluster/metadata.ts";

/**
 * Parses the `metadata` filter, `key=value&key=value`, whose query was decoded once. The Python client encodes each side once more, the
 * JavaScript client does not. A side that cannot be decoded stays as it is.
 */
export function parseMetadataFilter(text: string): Metadata {
  const pairs = text.split("&").filter((pair) => pair !== "");
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      const [key, value] = at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
      return [decoded(key), decoded(value)];
    }),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
