/** Who asks, once it is known. */
export interface Caller {
  /** Limits are counted under this. Never a secret. */
  readonly id: string;
  /** Whom the API server is asked about; absent when a scoped token already says what is allowed. */
  readonly user?: User;
}

export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** `Bearer <token>`: the scheme in any case, one space, the token trimmed; an empty one counts as none. */
export function bearerToken(authorization: string | undefined): string | undefined {
  const [, token = ""] = /^bearer (.*)$/is.exec(authorization ?? "") ?? [];
  const trimmed = token.trim();
  return trimmed === "" ? undefined : trimmed;
}
