import type { Transport } from "@agent-sandbox/kube";
import type { Answer } from "./plain-server.ts";

/** What the manager is at: it waits for the lease, reads what there is, works, and stops. */
export type Phase = "starting" | "waiting" | "syncing" | "working" | "stopping";

/** An API server that did not answer for so long is away, not slow. */
const awayMs = 5_000;

/** Whether this process should be restarted, and whether it can be counted on. */
export class Health {
  phase: Phase = "starting";
  readonly #now: () => number;
  #lostAt: number | undefined;
  #answered = false;
  #silentSince: number | undefined;

  /** `now` in milliseconds since some fixed moment. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The lease is another's: whatever runs here still must come to an end. */
  leadershipLost(): void {
    this.#lostAt ??= this.#now();
  }

  /** Why the process needs a restart; undefined when it does not. */
  get sickness(): string | undefined {
    return this.#lostAt === undefined ? undefined : "the lease was lost, and work on it has not ended";
  }

  /** Why this replica cannot be counted on; undefined when it can. One that waits for the lease can: it serves the webhook. */
  get unreadiness(): string | undefined {
    if (this.sickness !== undefined) return this.sickness;
    if (this.phase === "starting" || this.phase === "stopping") return `the manager is ${this.phase}`;
    if (!this.#answered) return "the API server has not answered yet";
    const silentMs = this.#silentSince === undefined ? 0 : this.#now() - this.#silentSince;
    if (silentMs >= awayMs) return `the API server has not answered for ${Math.round(silentMs / 1000)} s`;
    return this.phase === "syncing" ? "the caches are being filled" : undefined;
  }

  /** Listens to how requests fare. */
  watching(transport: Transport): Transport {
    return {
      send: async (request) => {
        try {
          const response = await transport.send(request);
          this.#heard();
          return response;
        } catch (error) {
          this.#silentSince ??= this.#now();
          throw error;
        }
      },
      stream: (request) => transport.stream(request),
      close: () => transport.close(),
    };
  }

  #heard(): void {
    this.#answered = true;
    this.#silentSince = undefined;
  }
}

export function probesOf(health: Health): ReadonlyMap<string, Answer> {
  const probe =
    (problem: () => string | undefined): Answer =>
    (_request, response) => {
      const text = problem();
      response.writeHead(text === undefined ? 200 : 503, { "content-type": "text/plain" }).end(text ?? "ok");
    };
  return new Map([
    ["/healthz", probe(() => health.sickness)],
    ["/readyz", probe(() => health.unreadiness)],
  ]);
}
