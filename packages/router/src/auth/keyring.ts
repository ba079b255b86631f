import { createHash } from "node:crypto";

export interface SigningKey {
  /** Names the key in a token, and tells nothing about it. */
  readonly id: string;
  readonly secret: Buffer;
}

/** The first key signs, all of them verify: a new one is put in front, an old one taken out when its tokens are spent. */
export type Keyring = readonly [SigningKey, ...SigningKey[]];

const leastBytes = 32;

/** The content of a secret file as a key: white space around it does not count. */
export function signingKey(content: Buffer | string): SigningKey | { readonly error: string } {
  const secret = Buffer.from(
    typeof content === "string" ? content.trim() : content.toString("latin1").trim(),
    "latin1",
  );
  if (secret.length < leastBytes) {
    return { error: `Cannot use the signing key: it has ${secret.length} bytes, want at least ${leastBytes}` };
  }
  const id = createHash("sha256").update("agent-sandbox/key-id/").update(secret).digest("base64url").slice(0, 8);
  return { id, secret };
}
