import type { Grant } from "./grant.ts";

/** Who asks, once it is known. */
export interface Caller {
  /** Limits are counted under this. Never a secret. */
  readonly id: string;
  /** By what credential. A scoped token gives no right to mint others. */
  readonly by: "none" | "scoped token" | "token" | "certificate";
  readonly grant: Grant;
}

export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Whose share of the router a user's requests count towards. A tenant may have any number of accounts in a namespace. */
export function tenantOf({ username }: User): string {
  const [, namespace] = /^system:serviceaccount:([^:]+):/.exec(username) ?? [];
  return namespace === undefined ? `user ${username}` : `namespace ${namespace}`;
}

/** The user of a client certificate that was verified, and when it expires. */
export interface VerifiedCertificate {
  readonly user: User;
  /** Milliseconds since 1970. */
  readonly untilMs: number;
}

/** `Bearer <token>`: the scheme in any case, one space, the token trimmed; an empty one counts as none. */
export function bearerToken(authorization: string | undefined): string | undefined {
  const [, token = ""] = /^bearer (.*)$/is.exec(authorization ?? "") ?? [];
  const trimmed = token.trim();
  return trimmed === "" ? undefined : trimmed;
}
