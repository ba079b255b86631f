import type { IncomingMessage, ServerResponse } from "node:http";
import type { Sandbox } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";

/** Who an API key belongs to, as a TokenReview reports it. */
export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Authenticates and authorizes callers, with short caches. The router has one. */
export interface Callers {
  /** Undefined if the token is not valid. Rejects if the API server cannot be reached. */
  userOf(token: string, peer: string): Promise<User | undefined>;
  /** Whether the user may send traffic to the Sandbox. */
  mayConnect(user: User, namespace: string, name: string): Promise<boolean>;
}

/** The content of a token of one Sandbox. */
export interface TokenScope {
  readonly namespace: string;
  /** The name of the claim or Sandbox that the client uses. */
  readonly name: string;
  readonly uid: string;
  /** Absent: all ports. */
  readonly ports?: readonly number[];
}

/** Issues and verifies tokens that are valid as long as their Sandbox. The router accepts them. */
export interface SandboxTokens {
  /** The same token every time, until the tokens of the Sandbox are revoked or the signing key is replaced. */
  mint(sandbox: Sandbox, scope: Omit<TokenScope, "uid">): string;
  /** The tokens of every signing key that is still accepted, the newest first. */
  mintAll(sandbox: Sandbox, scope: Omit<TokenScope, "uid">): readonly string[];
  /** Undefined if the token was not issued here or has expired. */
  verify(token: string): TokenScope | undefined;
  /** Whether the tokens of the Sandbox were revoked after this one was issued. */
  isRevoked(token: string, sandbox: Sandbox): boolean;
}

/** A client of the API server with the rights of a user. */
export type ClientFor = (user: User, token: string) => Client;

/** Another protocol on the listener's address. Requests that name a sandbox do not get there. */
export interface Mount {
  /** The exact paths that it serves. */
  readonly paths: readonly string[];
  /** Resolves when the response has ended. If it rejects, the listener answers. */
  serve(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void>;
}
