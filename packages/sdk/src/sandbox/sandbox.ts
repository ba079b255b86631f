import type { CallOptions, Deadline } from "../deadline.ts";
import { isSandboxError } from "../errors.ts";
import type { ApiServer, ObjectName } from "../kube/api-server.ts";
import {
  claims,
  currentCondition,
  type Depth,
  type SandboxObject,
  type SnapshotObject,
  type Suspension,
  sandboxes,
  snapshots,
} from "../kube/resources.ts";
import { type Verdict, waitFor } from "../kube/wait.ts";
import { requestId } from "../request-id.ts";
import {
  CodeContext,
  type CodeResult,
  type ContextOptions,
  type Language,
  type RunCodeOptions,
} from "../runtime/code.ts";
import { Commands } from "../runtime/commands.ts";
import { Files } from "../runtime/files.ts";
import { Ports } from "../runtime/ports.ts";
import { callJson } from "../runtime/rest.ts";
import type { Router } from "../runtime/router.ts";
import { operate } from "../telemetry/operation.ts";
import { createOnce, requestIdAnnotation } from "./create-once.ts";
import { isReady, isSuspended, isTaken } from "./readiness.ts";

/** What a handle needs to know about its sandbox. */
export interface SandboxIdentity {
  readonly name: string;
  readonly namespace: string;
  readonly uid?: string | undefined;
  /** The claim that holds the sandbox. It is deleted instead of the sandbox. */
  readonly claim?: { readonly name: string; readonly uid?: string | undefined };
  /** Whether this program created the sandbox, so that disposing the handle deletes it. */
  readonly isOwned: boolean;
}

export interface SandboxStatus {
  readonly phase: "Ready" | "Suspended" | "Starting" | "Failed";
  /** Why the sandbox is not ready. */
  readonly reason?: string;
  readonly message?: string;
  readonly addresses: readonly string[];
  readonly expiresAt?: Date;
  readonly suspension: Suspension;
}

export interface Snapshot {
  readonly name: string;
  readonly depth: Depth;
  readonly sizeBytes: number;
  /** How long the sandbox stood still. */
  readonly pauseMs: number;
}

export interface SnapshotOptions extends CallOptions {
  /** Default: the name of the sandbox and random characters. */
  readonly name?: string;
  /** Default: the deepest that the runtime can save. */
  readonly depth?: "Filesystem" | "Memory";
  readonly ttlSeconds?: number;
}

export interface Usage {
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly memoryLimitBytes?: number;
  readonly processes: number;
  readonly diskBytes: number;
}

const lifecycleTimeoutMs = 180_000;
const callTimeoutMs = 60_000;

/**
 * A sandbox: run commands and code in it, transfer files, suspend and resume it.
 *
 * @example
 * ```ts
 * import { connect } from "@agent-sandbox/sdk";
 *
 * using client = await connect();
 * await using sandbox = await client.create({ image: "host", suspendDepth: "Memory" });
 * await sandbox.runCode("visits = 41");
 * await sandbox.suspend();
 * console.log((await sandbox.status()).phase);
 * await sandbox.resume();
 * console.log((await sandbox.runCode("visits + 1")).text);
 * // Output: Suspended
 * // 42
 * ```
 */
export class Sandbox implements AsyncDisposable {
  readonly name: string;
  readonly namespace: string;
  readonly commands: Commands;
  readonly files: Files;
  readonly ports: Ports;
  readonly #api: ApiServer;
  readonly #router: Router;
  readonly #identity: SandboxIdentity;
  /** The contexts of `runCode`, by language. */
  readonly #contexts = new Map<Language, Promise<CodeContext>>();

  constructor(api: ApiServer, router: Router, identity: SandboxIdentity) {
    this.name = identity.name;
    this.namespace = identity.namespace;
    this.#api = api;
    this.#router = router;
    this.#identity = identity;
    this.commands = new Commands(router, identity);
    this.files = new Files(router, identity);
    this.ports = new Ports(router, identity);
  }

  /** The UID of the Sandbox object, if it is known. */
  get uid(): string | undefined {
    return this.#identity.uid;
  }

  /** The name of the claim that holds the sandbox. */
  get claimName(): string | undefined {
    return this.#identity.claim?.name;
  }

  async status(options: CallOptions = {}): Promise<SandboxStatus> {
    const call = { doing: `Cannot get sandbox "${this.name}"`, options };
    return this.#operate("status", call, async (deadline) =>
      statusOf(await this.#api.get(sandboxes, this.#object, deadline)),
    );
  }

  /** Waits until the sandbox can be used. Rejects at once with `Failed` if it never will. Default: three minutes. */
  async waitUntilReady(options: CallOptions = {}): Promise<void> {
    const doing = `Cannot wait for sandbox "${this.name}"`;
    await this.#operate("waitUntilReady", { doing, options, defaultMs: lifecycleTimeoutMs }, (deadline) =>
      waitFor(this.#api, { resource: sandboxes, name: this.#object, deadline, doing, judge: isReady }),
    );
  }

  /**
   * Runs code in a context that lasts as long as this handle, one for each language. Variables are kept between calls. If the context
   * is gone, for example because the sandbox was restarted, the call rejects with `NotFound`, and the next one starts a new context.
   */
  async runCode(code: string, options: RunCodeOptions & Pick<ContextOptions, "language"> = {}): Promise<CodeResult> {
    const { language = "python", ...rest } = options;
    const context = this.#contexts.get(language) ?? this.createContext({ language });
    this.#contexts.set(language, context);
    try {
      return await (await context).run(code, rest);
    } catch (error) {
      const isUsable = await context.then(() => !isSandboxError(error, "NotFound")).catch(() => false);
      if (!isUsable) this.#contexts.delete(language);
      throw error;
    }
  }

  /** Starts an interpreter that keeps its variables between calls. */
  createContext(options: ContextOptions = {}): Promise<CodeContext> {
    return CodeContext.create({ router: this.#router, target: this.#identity }, options);
  }

  /** Suspends the sandbox and waits until it sleeps. What it keeps depends on its `suspendPolicy`. */
  suspend(options: CallOptions = {}): Promise<Suspension> {
    return this.#setMode("Suspended", isSuspended, { ...options, doing: `Cannot suspend sandbox "${this.name}"` });
  }

  /** Resumes the sandbox and waits until it can be used. */
  resume(options: CallOptions = {}): Promise<Suspension> {
    return this.#setMode("Running", isReady, { ...options, doing: `Cannot resume sandbox "${this.name}"` });
  }

  /** Saves the state of the sandbox, which goes on. */
  async snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    const { name = `${this.name}-${requestId().slice(0, 8)}`, depth, ttlSeconds } = options;
    const doing = `Cannot take a snapshot of sandbox "${this.name}"`;
    const object: SnapshotObject = {
      apiVersion: snapshots.apiVersion,
      kind: snapshots.kind,
      metadata: { name, namespace: this.namespace, annotations: { [requestIdAnnotation]: requestId() } },
      spec: {
        sandboxRef: { name: this.name },
        ...(depth !== undefined && { depth }),
        ...(ttlSeconds !== undefined && { ttlSecondsAfterCreation: ttlSeconds }),
      },
    };
    const place = { namespace: this.namespace, name };
    const call = { doing, options, defaultMs: lifecycleTimeoutMs };
    const { status } = await this.#operate("snapshot", call, async (deadline) => {
      const from = await createOnce(this.#api, snapshots, object, deadline);
      return waitFor(this.#api, { resource: snapshots, name: place, deadline, doing, from, judge: isTaken });
    });
    return {
      name,
      depth: status?.depth ?? "Filesystem",
      sizeBytes: status?.sizeBytes ?? 0,
      pauseMs: status?.pauseMilliseconds ?? 0,
    };
  }

  /** Deletes the sandbox this many seconds from now, instead of at its present time. */
  async extend(lifetimeSeconds: number, options: CallOptions = {}): Promise<Date> {
    const expiresAt = new Date(Math.floor(Date.now() / 1000 + lifetimeSeconds) * 1000);
    const shutdown = { shutdownTime: expiresAt.toISOString().replace(".000", ""), shutdownPolicy: "Delete" };
    const { claim } = this.#identity;
    await this.#operate("extend", { doing: `Cannot extend sandbox "${this.name}"`, options }, async (deadline) => {
      if (claim === undefined) return this.#api.patch(sandboxes, this.#object, { spec: shutdown }, deadline);
      const place = { namespace: this.namespace, name: claim.name };
      return this.#api.patch(claims, place, { spec: { lifecycle: shutdown } }, deadline);
    });
    return expiresAt;
  }

  /** What the sandbox uses now. */
  async usage(options: CallOptions = {}): Promise<Usage> {
    const doing = `Cannot measure sandbox "${this.name}"`;
    const wire = await this.#operate("usage", { doing, options }, (deadline) =>
      callJson<WireUsage>(this.#router, this.#identity, { doing, deadline, method: "GET", path: "/usage" }),
    );
    const limit = wire.memory.limit_bytes;
    return {
      cpuSeconds: wire.cpu.used_seconds,
      memoryBytes: wire.memory.used_bytes,
      ...(limit !== undefined && { memoryLimitBytes: limit }),
      processes: wire.processes.count,
      diskBytes: wire.disk.used_bytes,
    };
  }

  /** Deletes the sandbox and everything in it. Succeeds if it is already gone. */
  async delete(options: CallOptions = {}): Promise<void> {
    const { claim, uid } = this.#identity;
    await this.#operate("delete", { doing: `Cannot delete sandbox "${this.name}"`, options }, (deadline) =>
      claim === undefined
        ? this.#api.delete(sandboxes, { ...this.#object, uid }, deadline)
        : this.#api.delete(claims, { namespace: this.namespace, ...claim }, deadline),
    );
  }

  /** Deletes a sandbox that this handle created. A sandbox that it was attached to goes on. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#identity.isOwned) await this.delete();
  }

  async #setMode(
    operatingMode: "Suspended" | "Running",
    judge: (sandbox: SandboxObject) => Verdict<SandboxObject>,
    { doing, ...options }: CallOptions & { readonly doing: string },
  ): Promise<Suspension> {
    const name = this.#object;
    const operation = operatingMode === "Suspended" ? "suspend" : "resume";
    const call = { doing, options, defaultMs: lifecycleTimeoutMs };
    const done = await this.#operate(operation, call, async (deadline) => {
      const from = await this.#api.patch(sandboxes, name, { spec: { operatingMode } }, deadline);
      return waitFor(this.#api, { resource: sandboxes, name, deadline, doing, from, judge });
    });
    return done.status?.suspension ?? {};
  }

  #operate<T>(
    name: string,
    call: { readonly doing: string; readonly options: CallOptions; readonly defaultMs?: number },
    work: (deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    return operate(this.#router.tracing, { name, sandbox: this.#object, defaultMs: callTimeoutMs, ...call }, work);
  }

  get #object(): ObjectName {
    return { namespace: this.namespace, name: this.name };
  }
}

interface WireUsage {
  readonly cpu: { readonly used_seconds: number };
  readonly memory: { readonly used_bytes: number; readonly limit_bytes?: number };
  readonly processes: { readonly count: number };
  readonly disk: { readonly used_bytes: number };
}

export function statusOf(sandbox: SandboxObject): SandboxStatus {
  const { spec, status } = sandbox;
  const verdict = isReady(sandbox);
  const ready = currentCondition(sandbox, "Ready");
  const isAsleep = spec.operatingMode === "Suspended";
  const phase = isAsleep
    ? "Suspended"
    : verdict.type === "done"
      ? "Ready"
      : verdict.type === "failed"
        ? "Failed"
        : "Starting";
  const isExplained = phase === "Starting" || phase === "Failed";
  return {
    phase,
    ...(isExplained && ready?.reason !== undefined && { reason: ready.reason }),
    ...(isExplained && ready?.message !== undefined && { message: ready.message }),
    addresses: status?.podIPs ?? [],
    ...(spec.shutdownTime !== undefined && { expiresAt: new Date(spec.shutdownTime) }),
    suspension: status?.suspension ?? {},
  };
}
