import { createHash } from "node:crypto";

export interface SigningKey {
  /** Identifies the key in a token without revealing it. */
  readonly id: string;
  readonly secret: Buffer;
}

/** The first key signs, all keys verify. To rotate keys, add a new one in front and remove the old one when its tokens have expired. */
export type Keyring = readonly [SigningKey, ...SigningKey[]];

const minBytes = 32;

/** Creates a key from the content of a file. Surrounding white space is ignored. */
export function signingKey(content: Buffer | string): SigningKey | { readonly error: string } {
  const secret = Buffer.from(
    typeof content === "string" ? content.trim() : content.toString("latin1").trim(),
    "latin1",
  );
  if (secret.length < minBytes) {
    return { error: `Cannot use the signing key: it has ${secret.length} bytes, want at least ${minBytes}` };
  }
  const id = createHash("sha256").update("agent-sandbox/key-id/").update(secret).digest("base64url").slice(0, 8);
  return { id, secret };
}
