import { keyOf, objectKey, type Scheduler } from "@agent-sandbox/kube";
import type { Directory } from "../cluster/directory.ts";
import { type Resolution, resolve } from "../cluster/resolve.ts";
import type { Target } from "../cluster/target.ts";
import type { Route } from "../route/route.ts";
import { RouterError } from "../router-error.ts";
import { hold } from "./hold.ts";
import type { WaitQueue } from "./wait-queue.ts";
import type { Waker } from "./waker.ts";

export interface SandboxWaiterOptions {
  readonly directory: Directory;
  readonly queue: WaitQueue;
  readonly waker: Waker;
  readonly scheduler: Scheduler;
  /** How long a request waits for its sandbox to become ready. */
  readonly holdMs: number;
}

export interface HoldOptions {
  /** Memory that the request occupies while it waits. */
  readonly bytes: number;
  /** Aborted when the client disconnects or the request times out. */
  readonly signal: () => AbortSignal;
}

/** Limits the cache, because clients choose the names. */
const maxReady = 10_000;

/** Finds the target of a request if its sandbox is ready. Otherwise wakes the sandbox and holds the request until it is. */
export class SandboxWaiter {
  readonly #options: SandboxWaiterOptions;
  /** Ready targets by route, valid for one version of the directory. */
  readonly #ready = new Map<string, Target>();
  #readyAt = -1;

  constructor(options: SandboxWaiterOptions) {
    this.#options = options;
  }

  #resolve(route: Route): Resolution {
    return resolve(route, this.#options.directory);
  }

  /** The target of the request. Undefined if the request must wait. */
  ready(route: Route): Target | undefined {
    const { version } = this.#options.directory;
    if (this.#readyAt !== version || this.#ready.size >= maxReady) this.#ready.clear();
    this.#readyAt = version;
    const { namespace, name, port, uid = "", podIp = "" } = route;
    const key = `${namespace}/${name}:${port} ${uid} ${podIp}`;
    const known = this.#ready.get(key);
    if (known !== undefined) return known;
    const now = this.#resolve(route);
    if (now.state !== "ready") return undefined;
    this.#ready.set(key, now.target);
    return now.target;
  }

  /**
   * Wakes the sandbox if it sleeps and returns the target when it is ready. Throws a `RouterError` if it cannot become ready
   * or does not in time, and the signal's reason if that aborts.
   */
  async waitUntilReady(route: Route, hold: HoldOptions): Promise<Target> {
    const now = this.#resolve(route);
    if (now.state === "ready") return now.target;
    if (now.state === "closed") throw new RouterError(now.reason, now.message, retryLater(now));
    using _place = this.#options.queue.add(route, hold.bytes);
    return await this.#hold(route, hold.signal());
  }

  #hold(route: Route, signal: AbortSignal): Promise<Target> {
    return hold(this.#options, {
      key: keyOf(route),
      signal,
      check: () => {
        const now = this.#resolve(route);
        const target = this.#targetOrWake(now);
        if (target !== undefined) return { result: target };
        // A claim is bound to a Sandbox of another name, whose changes matter too.
        return { alsoWatch: "sandbox" in now && now.sandbox !== undefined ? objectKey(now.sandbox) : undefined };
      },
      timedOut: () => timedOut(route, this.#resolve(route)),
    });
  }

  /** The target if it is ready. Wakes a sandbox that sleeps. */
  #targetOrWake(now: Resolution): Target | undefined {
    if (now.state === "ready") {
      this.#options.waker.settled(now.sandbox.metadata.uid ?? "");
      return now.target;
    }
    if (now.state === "closed") throw new RouterError(now.reason, now.message, retryLater(now));
    if (now.state === "asleep") this.#options.waker.wake(now.sandbox, now.by);
    return undefined;
  }
}

function timedOut(route: Route, now: Resolution): RouterError {
  const retry = { retryAfterSeconds: 5 };
  const problem = now.state === "starting" ? now.problem : undefined;
  if (problem !== undefined) {
    return new RouterError(problem.reason, `Sandbox is not ready in time: ${route.name}: ${problem.message}`, retry);
  }
  const what = now.state === "asleep" ? "it was woken and did not become ready" : "it is still starting";
  return new RouterError("SandboxStarting", `Sandbox is not ready in time: ${route.name}: ${what}`, retry);
}

/** Only for reasons that may go away with time. */
function retryLater({ reason }: { readonly reason: string }): { retryAfterSeconds?: number } {
  return ["ImageUnavailable", "SandboxCrashing"].includes(reason) ? { retryAfterSeconds: 10 } : {};
}
