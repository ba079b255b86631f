import { randomBytes } from "node:crypto";
import { type Sandbox, sandboxes } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import type { Route } from "../route/route.ts";
import { RouterError } from "../router-error.ts";
import type { Keyring } from "./keyring.ts";
import type { MintRequest } from "./mint-request.ts";
import { mintV2 } from "./scoped-token.ts";
import { tokensNotBeforeAnnotation } from "./token-scope.ts";

export interface TokenIssuerOptions {
  readonly client: Client;
  readonly keys: () => Keyring | undefined;
  /** Milliseconds since 1970. */
  readonly date: () => number;
}

export interface Minted {
  readonly token: string;
  readonly id: string;
  readonly expiresAt: string;
}

/** Issues scoped tokens, signed with the newest key, and revokes them. */
export class TokenIssuer {
  readonly #options: TokenIssuerOptions;

  constructor(options: TokenIssuerOptions) {
    this.#options = options;
  }

  /** The token is bound to the UID: it is not valid for a later Sandbox of the same name. */
  mint(sandbox: Sandbox, route: Route, { ports, lifetimeSeconds }: MintRequest): Minted {
    const [key] = this.#options.keys() ?? [];
    const { uid } = sandbox.metadata;
    if (key === undefined || uid === undefined) throw new RouterError("Forbidden", "Scoped tokens are not enabled.");
    const now = this.#options.date();
    const exp = Math.floor(now / 1000) + lifetimeSeconds;
    const id = randomBytes(9).toString("base64url");
    const scope = { ns: route.namespace, name: route.name, uid, ...(ports === undefined ? {} : { ports }) };
    const token = mintV2({ ...scope, id, iat: now / 1000, exp, use: "access" }, key);
    return { token, id, expiresAt: new Date(exp * 1000).toISOString() };
  }

  /** Revokes all tokens of the Sandbox issued so far. Each router refuses them as soon as its watch reports the annotation. */
  async revoke(sandbox: Sandbox): Promise<{ readonly revokedBefore: string }> {
    const { name = "", namespace = "", uid } = sandbox.metadata;
    const revokedBefore = new Date(this.#options.date() + 1).toISOString();
    const body = { metadata: { annotations: { [tokensNotBeforeAnnotation]: revokedBefore } } };
    const preconditions = uid === undefined ? {} : { uid };
    try {
      await this.#options.client.patch(sandboxes, { namespace, name }, { type: "merge", body, preconditions });
    } catch (cause) {
      throw new RouterError("Internal", "The tokens could not be revoked.", { cause });
    }
    return { revokedBefore };
  }
}
