import type { Transport } from "@agent-sandbox/kube";
import type { Handler } from "./plain-server.ts";

/** `waiting`: for the lease. `syncing`: the caches are being filled. */
export type Phase = "starting" | "waiting" | "syncing" | "working" | "stopping";

/** An API server without a response for this long counts as unreachable. */
const unreachableAfterMs = 5_000;

/** The state behind the liveness and readiness probes. */
export class Health {
  phase: Phase = "starting";
  readonly #now: () => number;
  #lostAt: number | undefined;
  #answered = false;
  #failingSince: number | undefined;

  /** `now` is in milliseconds since an arbitrary fixed time. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Another process may lead now: work that still runs here must end. */
  leadershipLost(): void {
    this.#lostAt ??= this.#now();
  }

  /** Why the process must be restarted, or undefined if it is alive. */
  get livenessProblem(): string | undefined {
    return this.#lostAt === undefined ? undefined : "the lease was lost and work has not ended";
  }

  /** Why this replica is not ready, or undefined. A replica that waits for the lease is ready: it serves the webhook. */
  get readinessProblem(): string | undefined {
    if (this.livenessProblem !== undefined) return this.livenessProblem;
    if (this.phase === "starting" || this.phase === "stopping") return `the manager is ${this.phase}`;
    if (!this.#answered) return "the API server has not answered yet";
    const failingMs = this.#failingSince === undefined ? 0 : this.#now() - this.#failingSince;
    if (failingMs >= unreachableAfterMs) return `the API server has not answered for ${Math.round(failingMs / 1000)} s`;
    return this.phase === "syncing" ? "the caches are being filled" : undefined;
  }

  /** A transport that records whether requests get a response. */
  watching(transport: Transport): Transport {
    return {
      send: async (request) => {
        try {
          const response = await transport.send(request);
          this.#recordResponse();
          return response;
        } catch (error) {
          this.#failingSince ??= this.#now();
          throw error;
        }
      },
      stream: (request) => transport.stream(request),
      close: () => transport.close(),
    };
  }

  #recordResponse(): void {
    this.#answered = true;
    this.#failingSince = undefined;
  }
}

export function probesOf(health: Health): ReadonlyMap<string, Handler> {
  const probe =
    (problem: () => string | undefined): Handler =>
    (_request, response) => {
      const text = problem();
      response.writeHead(text === undefined ? 200 : 503, { "content-type": "text/plain" }).end(text ?? "ok");
    };
  return new Map([
    ["/healthz", probe(() => health.livenessProblem)],
    ["/readyz", probe(() => health.readinessProblem)],
  ]);
}
