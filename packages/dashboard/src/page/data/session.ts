import { tryAgain } from "./try-again.ts";

/**
 * The session of this page. The cookie is invisible to scripts; what the page knows is the user and the request token, which
 * every call carries. Both stay in memory: nothing of a session is written to storage or to the address.
 */
export interface Session {
  readonly user: string;
  /** The namespace that the user works in by default. */
  readonly namespace: string;
  /** RFC 3339 or milliseconds. */
  readonly expiresAt: string | number;
  readonly requestToken: string;
  readonly version: string;
}

/** Undefined: nobody is logged in. Throws if the server cannot be reached. */
export async function loadSession(): Promise<Session | undefined> {
  const response = await tryAgain(() => fetch("/session", { headers: { accept: "application/json" } }));
  if (response.status === 401) return undefined;
  if (!response.ok) throw new Error(`The dashboard answered ${response.status}`);
  return (await response.json()) as Session;
}
