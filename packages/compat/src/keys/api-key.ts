/** A key of a foreign client: a token of the API server, and the namespace that it is used for. */
export interface ApiKey {
  readonly token: string;
  /** Absent: the namespace of the token's service account, or the default of the listener. */
  readonly namespace?: string;
}

const namespace = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
/** A service account's token has about a thousand bytes, and twice as many in hexadecimal. */
const longest = 32_768;

/**
 * Reads `<token>`, `<token>@<namespace>`, and either of them as `e2b_<key>` or `e2b_<key in hexadecimal>`: older clients of E2B
 * only accept `e2b_` followed by hexadecimal digits.
 */
export function parseApiKey(text: string): ApiKey | undefined {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed.length > longest) return undefined;
  const plain = trimmed.startsWith("e2b_") ? fromHex(trimmed.slice("e2b_".length)) : trimmed;
  const at = plain.lastIndexOf("@");
  const suffix = plain.slice(at + 1);
  const key = at > 0 && namespace.test(suffix) ? { token: plain.slice(0, at), namespace: suffix } : { token: plain };
  // Anything else cannot be sent to the API server.
  return /^[\x21-\x7e]+$/.test(key.token) ? key : undefined;
}

/** A token that consists of hexadecimal digits is not printable when it is decoded. */
function fromHex(text: string): string {
  if (!/^(?:[0-9a-f]{2})+$/i.test(text)) return text;
  const decoded = Buffer.from(text, "hex").toString("latin1");
  return /^[\x21-\x7e]+$/.test(decoded) ? decoded : text;
}

/** The form that every generation of clients accepts. */
export function formatApiKey({ token, namespace: place }: ApiKey): string {
  const text = place === undefined ? token : `${token}@${place}`;
  return `e2b_${Buffer.from(text, "latin1").toString("hex")}`;
}
