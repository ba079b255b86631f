import type { ListenAddress } from "@agent-sandbox/api";
import type { Client, Informers, Logger, Scheduler } from "@agent-sandbox/kube";
import type { Tracer } from "@opentelemetry/api";
import type { Keyring } from "./auth/keyring.ts";
import type { Limits } from "./proxy/limits.ts";
import type { RetryOptions } from "./proxy/pathfinder.ts";
import type { TlsFiles } from "./tls/certificates.ts";
import type { WaitingRoomLimits } from "./wake/waiting-room.ts";

export type { ListenAddress } from "@agent-sandbox/api";

export interface AuthOptions {
  /** Lets everybody reach everything. Default false. */
  readonly anonymous?: boolean;
  /** Takes the API server's tokens. Default: on, for any audience the server itself has. */
  readonly tokenReview?: TokenReviewOptions | false;
  /** Lets requests without any credential pass when false. Default true. */
  readonly requireToken?: boolean;
  /** Signs and verifies scoped tokens and browser sessions. Default: a key of this process alone. */
  readonly keys?: Keyring;
  /** The same from files, read again when they change. */
  readonly keyFiles?: readonly string[];
}

export interface TokenReviewOptions {
  readonly audiences?: readonly string[];
  /** How long an answer counts. Default 30 s. */
  readonly ttlMs?: number;
  /** Default 2048. */
  readonly cacheSize?: number;
  /** Ask whether the user may connect to the very Sandbox. Default true. */
  readonly accessReview?: boolean;
}

export interface RouterOptions {
  readonly client: Client;
  /** Shared with others in the process; made when absent. */
  readonly informers?: Informers;
  /** Only this namespace; all when absent. */
  readonly namespace?: string;
  /** Whether the cluster has SandboxClaims, whose names stand for the Sandboxes they hold. Default true. */
  readonly claims?: boolean;
  readonly listen?: ListenAddress;
  readonly secure?: ListenAddress & TlsFiles;
  readonly metrics?: ListenAddress;
  readonly probes?: ListenAddress;
  /** Below these every `<sandbox>.<namespace>` is a host name. Default `localhost`. */
  readonly domains?: readonly string[];
  /**
   * The router's own host names. Requests under any other are refused, except addresses and sandboxes' own names. Give them
   * where `auth.anonymous` is on and browsers are near. Default: any.
   */
  readonly hosts?: readonly string[];
  readonly auth?: AuthOptions;
  /** How often the right to open requests and connections is checked again. Default 30 s. */
  readonly recheckMs?: number;
  readonly allowLoopbackPodIp?: boolean;
  /** How long a request may stand still. Default 180 s. */
  readonly timeoutMs?: number;
  /** How long a connection to a sandbox may take. Default 5 s. */
  readonly dialMs?: number;
  /** How long a request is held for a sandbox that is coming up. Default 60 s. */
  readonly holdMs?: number;
  /** How long requests under way may take once the router is told to stop. Default 30 s. */
  readonly shutdownMs?: number;
  /** How long a caller may take for a request's head, and for the body of one that the router itself answers. Default 10 s. */
  readonly headMs?: number;
  /** 0: any. Default 0. */
  readonly maxBodyBytes?: number;
  /** Default 64 KiB. */
  readonly maxHeaderBytes?: number;
  /** Queued for those who do not read it, over all connections; then those that stand still are broken off. Default 256 MiB. */
  readonly maxQueuedBytes?: number;
  /** Connections of callers at a time; then those without a request make room. Default 20,000. */
  readonly maxConnections?: number;
  readonly limits?: Partial<Limits>;
  readonly waiting?: Partial<WaitingRoomLimits>;
  readonly retries?: Partial<RetryOptions>;
  readonly accessLog?: boolean;
  readonly tracer?: Tracer;
  readonly log?: Logger;
  /** Default: the system's. */
  readonly scheduler?: Scheduler;
  readonly build?: { readonly version: string; readonly commit: string };
}

export const defaultHeadMs = 10_000;
export const defaultMaxConnections = 20_000;
export const defaultMaxHeaderBytes: number = 64 * 1024;
/** A thousand callers that stand still, at the 256 KiB that each may hold. */
export const defaultMaxQueuedBytes: number = 256 * 2 ** 20;

/**
 * 2,000 requests at a time into one sandbox is what a pool of agents does at its worst; a caller gets half of that. A
 * namespace that is alone gets half of all: as many as there may be connections.
 */
export const defaultLimits: Limits = { perSandbox: 2000, perCaller: 1000, connectionsPerCaller: 1000, inAll: 40_000 };

/**
 * 64 MiB hold a thousand uploads that wait, at the 64 KiB each that the parser reads ahead. A namespace that is alone gets half
 * of all.
 */
export const defaultWaiting: WaitingRoomLimits = { perSandbox: 1000, inAll: 10_000, bytesInAll: 128 * 2 ** 20 };

export const defaultRetries: RetryOptions = { most: 3, firstDelayMs: 200, longestDelayMs: 800, startingMs: 15_000 };
