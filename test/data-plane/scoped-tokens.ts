import { createHmac } from "node:crypto";

export interface Claims {
  readonly ns: string;
  readonly name: string;
  readonly exp: number;
}

export interface Signing {
  readonly secret: string;
  /** The prefix of the signed text. */
  readonly context?: string;
}

/** Creates a token independently of the product's code. */
export function scopedToken(claims: Claims, { secret, context = "agent-sandbox/scoped-token/v1." }: Signing): string {
  const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
  const signature = createHmac("sha256", secret).update(`${context}${payload}`).digest("base64url");
  return `v1.${payload}.${signature}`;
}

export const inAnHour = (): number => Math.floor(Date.now() / 1000) + 3600;

/** A test vector: the key is 32 times the letter k, namespace `default`, name `box-a`, expiry at the start of 2100. */
export const knownToken: string = [
  "v1.eyJucyI6ImRlZmF1bHQiLCJuYW1lIjoiYm94LWEiLCJleHAiOjQxMDI0NDQ4MDB9",
  "8FlrlboX6YfA-FhkloiVsdQTtiK_pi0-OADxIbS5jwI",
].join(".");
export const knownSecret: string = "k".repeat(32);
export const knownExpiryMs = 4_102_444_800_000;
