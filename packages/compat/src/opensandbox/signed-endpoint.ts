import { createHmac, timingSafeEqual } from "node:crypto";
import type { Sandbox } from "@agent-sandbox/api";
import type { SandboxTokens } from "../ports.ts";
import { scopeOf } from "./ports.ts";

/** One port of a sandbox, for everybody who has the link, until a time. */
export interface Grant {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** In seconds since 1970. */
  readonly expires: number;
}

/** The signature in a link. Its key is the sandbox's token for the port, so it ends with the sandbox and when its tokens are revoked. */
export function signEndpoint(tokens: SandboxTokens, sandbox: Sandbox, grant: Grant): string {
  return signatureWith(tokens.mint(sandbox, scopeOf(grant, grant.port)), grant);
}

/** The token with which the link was signed. Undefined if none of the sandbox was. */
export function signerOf(tokens: SandboxTokens, sandbox: Sandbox, grant: Grant, signature: string): string | undefined {
  const given = Buffer.from(signature);
  return tokens.mintAll(sandbox, scopeOf(grant, grant.port)).find((token) => {
    const expected = Buffer.from(signatureWith(token, grant));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

function signatureWith(token: string, { namespace, name, port, expires }: Grant): string {
  const text = `opensandbox-endpoint\n${namespace}\n${name}\n${port}\n${expires}`;
  return createHmac("sha256", token).update(text).digest("base64url");
}
