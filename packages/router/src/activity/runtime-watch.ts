import {
  askRuntimeAtMs,
  blueprintChoices,
  findCondition,
  idleWindowMs,
  lastActivityMs,
  parseTime,
  type Sandbox,
} from "@agent-sandbox/api";
import { FairShare, type Index, type Logger, objectKey, type Scheduler } from "@agent-sandbox/kube";
import type { Directory } from "../cluster/directory.ts";
import type { Route } from "../route/route.ts";
import type { RuntimeTokens } from "../upstream/runtime-tokens.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import type { SandboxWaiter } from "../wake/sandbox-waiter.ts";
import type { ActivityTracker } from "./activity-tracker.ts";
import { askRuntime } from "./ask-runtime.ts";

export interface RuntimeWatchOptions {
  readonly directory: Directory;
  readonly activity: ActivityTracker;
  readonly waiter: SandboxWaiter;
  readonly pool: UpstreamPool;
  readonly runtimeTokens: RuntimeTokens;
  readonly scheduler: Scheduler;
  readonly log: Logger;
}

/** The last quarter of the shortest idle window, which is ten seconds, has several sweeps. */
const sweepMs = 1000;
/** Concurrent requests, shared by the namespaces, so that runtimes that never answer do not block those of others. */
const mostAtATime = 64;
/** The delay after a runtime did not answer. It is shorter than the last quarter of the shortest idle window. */
const afterFailureMs = 2000;
const runtimePort = 8080;

/** Sandboxes with an idle policy and an injected runtime. */
const askable = ({ spec }: Sandbox): readonly string[] =>
  spec.idlePolicy !== undefined && spec.operatingMode !== "Suspended" && blueprintChoices(spec).runtime === "Injected"
    ? ["askable"]
    : [];

/** Asks the runtime of a sandbox that is about to become idle whether commands run in it or leases are held. */
export class RuntimeWatch implements Disposable {
  readonly #options: RuntimeWatchOptions;
  readonly #askable: Index<Sandbox>;
  readonly #asking = new Set<string>();
  readonly #share = new FairShare(mostAtATime);
  /** When a runtime that did not answer may be asked again, by UID. */
  readonly #retryAtMs = new Map<string, number>();
  #timer: Disposable;

  constructor(options: RuntimeWatchOptions) {
    this.#options = options;
    this.#askable = options.directory.sandboxInformer.index("router-askable", askable);
    this.#timer = this.#schedule();
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #schedule(): Disposable {
    return this.#options.scheduler.schedule(sweepMs, () => {
      this.#timer = this.#schedule();
      this.#sweep();
    });
  }

  #sweep(): void {
    const now = this.#options.scheduler.date();
    for (const [uid, atMs] of this.#retryAtMs) if (atMs <= now) this.#retryAtMs.delete(uid);
    for (const sandbox of this.#askable.get("askable")) {
      if (this.#share.has(sandbox.metadata.namespace ?? "") && this.#isDue(sandbox, now)) void this.#ask(sandbox);
    }
  }

  #isDue(sandbox: Sandbox, now: number): boolean {
    const { uid = "" } = sandbox.metadata;
    const windowMs = idleWindowMs(sandbox);
    if (windowMs === undefined || this.#asking.has(uid) || this.#retryAtMs.has(uid)) return false;
    const ready = findCondition(sandbox.status?.conditions, "Ready");
    const since = parseTime(ready?.lastTransitionTime ?? "");
    const readyMs = ready?.status !== "True" || "error" in since ? undefined : since.epochMs;
    if (readyMs === undefined) return false;
    const lastMs = Math.max(readyMs, lastActivityMs(sandbox, now) ?? 0, this.#options.activity.lastMs(uid) ?? 0);
    return now >= askRuntimeAtMs(windowMs, lastMs);
  }

  async #ask(sandbox: Sandbox): Promise<void> {
    const { waiter, pool, runtimeTokens, activity, log } = this.#options;
    const { name = "", namespace = "", uid = "" } = sandbox.metadata;
    const by = { by: "path", podIp: undefined, target: "/v1/activity" } as const;
    const route: Route = { ...by, namespace, name, port: runtimePort, uid };
    const target = waiter.ready(route);
    if (target === undefined) return;
    this.#asking.add(uid);
    this.#share.take(namespace);
    try {
      const headers = await runtimeTokens.headersFor(sandbox);
      const connection = pool.take(target) ?? (await pool.open(target));
      if (await askRuntime(connection, route.target, headers)) activity.touch(sandbox);
    } catch (error) {
      this.#retryAtMs.set(uid, this.#options.scheduler.date() + afterFailureMs);
      log.debug({ sandbox: objectKey(sandbox), err: error }, "runtime not asked");
    } finally {
      this.#asking.delete(uid);
      this.#share.giveBack(namespace);
    }
  }
}
