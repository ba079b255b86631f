import type { ListenAddress } from "@agent-sandbox/api";
import type { Client, Informers, Logger, Scheduler } from "@agent-sandbox/kube";
import type { Tracer } from "@opentelemetry/api";
import type { Keyring } from "./auth/keyring.ts";
import type { SleepingLimits } from "./proxy/pod-splices.ts";
import type { Limits } from "./request/concurrency-limits.ts";
import type { TlsFiles } from "./tls/certificates.ts";
import type { RetryOptions } from "./upstream/connector.ts";
import type { WaitLimits } from "./wake/wait-queue.ts";

export type { ListenAddress } from "@agent-sandbox/api";

export interface AuthOptions {
  /** Allows every request without authentication. Default false. */
  readonly anonymous?: boolean;
  /** Authenticates tokens of the API server. Default: enabled, for the API server's own audiences. */
  readonly tokenReview?: TokenReviewOptions | false;
  /** If false, requests without any credential are allowed. Default true. */
  readonly requireToken?: boolean;
  /** Sign and verify scoped tokens and browser sessions. Default: a random key of this process. */
  readonly keys?: Keyring;
  /** Reads the keys from files, and again when they change. */
  readonly keyFiles?: readonly string[];
}

export interface TokenReviewOptions {
  readonly audiences?: readonly string[];
  /** How long answers are cached. Default 30 s. */
  readonly ttlMs?: number;
  /** Default 2048. */
  readonly cacheSize?: number;
  /** Check with a SubjectAccessReview whether the user may connect to the Sandbox. Default true. */
  readonly accessReview?: boolean;
}

export interface RouterOptions {
  readonly client: Client;
  /** Informers shared with other components of the process. Default: the router's own. */
  readonly informers?: Informers;
  /** Serves only this namespace. Default: all. */
  readonly namespace?: string;
  /** Whether the cluster serves SandboxClaims, which can be named instead of their Sandboxes. Default true. */
  readonly claims?: boolean;
  readonly listen?: ListenAddress;
  readonly secure?: ListenAddress & TlsFiles;
  readonly metrics?: ListenAddress;
  readonly probes?: ListenAddress;
  /** Sandboxes have the host names `<sandbox>.<namespace>.<domain>`. Default `localhost`. */
  readonly domains?: readonly string[];
  /**
   * The host names of the router itself. Requests with any other host name are refused, except IP addresses and the host
   * names of sandboxes. Set it if `auth.anonymous` is on and browsers can reach the router. Default: any.
   */
  readonly hosts?: readonly string[];
  /** Origins whose pages may use the router with a token, such as `https://app.example`. Default: none. */
  readonly allowedOrigins?: readonly string[];
  readonly auth?: AuthOptions;
  /** How often the access of open requests and connections is checked again. Default 30 s. */
  readonly recheckMs?: number;
  readonly allowLoopbackPodIp?: boolean;
  /** How long a request may make no progress. Default 180 s. */
  readonly timeoutMs?: number;
  /** How long a connection to a sandbox may take. Default 5 s. */
  readonly dialMs?: number;
  /** How long a request waits for its sandbox to become ready. Default 60 s. */
  readonly holdMs?: number;
  /** How long requests in progress may take when the router stops. Default 30 s. */
  readonly shutdownMs?: number;
  /** How long a client may take to send a request's head, and the body of a request to the router's own endpoints. Default 10 s. */
  readonly headMs?: number;
  /** 0: no limit. Default 0. */
  readonly maxBodyBytes?: number;
  /** Default 64 KiB. */
  readonly maxHeaderBytes?: number;
  /** Bytes queued for receivers that do not read, over all connections. Beyond it, stalled connections are aborted. Default 256 MiB. */
  readonly maxQueuedBytes?: number;
  /** Concurrent client connections. Beyond it, idle ones are closed. Default 20,000. */
  readonly maxConnections?: number;
  readonly limits?: Partial<Limits>;
  readonly waiting?: Partial<WaitLimits>;
  /** Connections that are kept while their sandbox is asleep. */
  readonly sleeping?: Partial<SleepingLimits>;
  readonly retries?: Partial<RetryOptions>;
  readonly accessLog?: boolean;
  readonly tracer?: Tracer;
  readonly log?: Logger;
  /** Default: the system clock and timers. */
  readonly scheduler?: Scheduler;
  readonly build?: { readonly version: string; readonly commit: string };
}

export const defaultHeadMs = 10_000;
export const defaultMaxConnections = 20_000;
export const defaultMaxHeaderBytes: number = 64 * 1024;
/** A thousand stalled clients with the 256 KiB that each may have queued. */
export const defaultMaxQueuedBytes: number = 256 * 2 ** 20;

/**
 * 2,000 concurrent requests to one sandbox are what a large pool of agents produces at its peak; one caller may use half of
 * that. A single namespace may use half of the total, which is as many as there may be connections.
 */
export const defaultLimits: Limits = { perSandbox: 2000, perCaller: 1000, connectionsPerCaller: 1000, total: 40_000 };

/**
 * A thousand waiting uploads, of which 64 KiB each are read ahead, need 64 MiB. A single namespace may use half of the total,
 * hence 128 MiB.
 */
export const defaultWaiting: WaitLimits = { perSandbox: 1000, total: 10_000, totalBytes: 128 * 2 ** 20 };

/** Half of the connections that there may be, so that sleeping ones leave room for others. */
export const defaultSleeping: SleepingLimits = { perSandbox: 1000, total: 10_000 };

export const defaultRetries: RetryOptions = { max: 3, firstDelayMs: 200, maxDelayMs: 800, startingMs: 15_000 };
