import { setTimeout as sleep } from "node:timers/promises";
import { callRest, RuntimeError, tellRest } from "./rest.ts";
import type { Runtime, Target } from "./runtime.ts";

/** The longest time that an interpreter may take to start. */
const startMs = 60_000;
const betweenLooksMs = 50;

/** A code context as clients see it. */
export interface CodeContext {
  readonly id: string;
  readonly language: string;
  readonly cwd: string;
}

export interface ContextSpec {
  /** What clients know it by. No two contexts have the same. */
  readonly name: string;
  readonly language: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Absent: the default user of the daemon. */
  readonly user?: string;
}

interface RuntimeContext {
  readonly id: string;
  readonly name?: string;
  readonly language: string;
  readonly cwd: string;
}

/** The id that clients know is the name of the context, so that a restarted context keeps it. */
const shown = ({ id, name, language, cwd }: RuntimeContext): CodeContext => ({ id: name ?? id, language, cwd });

/** The code contexts of one sandbox. Failures are a `RuntimeError`. */
export class CodeContexts {
  readonly #runtime: Runtime;
  readonly #target: Target;
  readonly #signal: AbortSignal;

  constructor(runtime: Runtime, target: Target, signal: AbortSignal) {
    this.#runtime = runtime;
    this.#target = target;
    this.#signal = signal;
  }

  async list(): Promise<readonly CodeContext[]> {
    const request = { method: "GET", path: "/v1/contexts", signal: this.#signal };
    const answer = await callRest<{ contexts: readonly RuntimeContext[] }>(this.#runtime, this.#target, request);
    return answer.contexts.map(shown);
  }

  async find(id: string): Promise<CodeContext | undefined> {
    return (await this.list()).find((one) => one.id === id);
  }

  async create(spec: ContextSpec): Promise<CodeContext> {
    const created = await callRest<RuntimeContext>(this.#runtime, this.#target, {
      method: "POST",
      path: "/v1/contexts",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(spec),
      signal: this.#signal,
    });
    return shown(created);
  }

  /** Creates it unless there is one of that name. Waits for one that another call is creating, which cannot be used before. */
  async ensure(spec: ContextSpec): Promise<void> {
    const patience = AbortSignal.any([this.#signal, AbortSignal.timeout(startMs)]);
    while ((await this.find(spec.name)) === undefined) {
      try {
        await this.create(spec);
        return;
      } catch (error) {
        if (!(error instanceof RuntimeError) || error.status !== 409 || patience.aborted) throw error;
      }
      await sleep(betweenLooksMs, undefined, { signal: this.#signal });
    }
  }

  async remove(id: string): Promise<void> {
    const path = `/v1/contexts/${encodeURIComponent(id)}`;
    await tellRest(this.#runtime, this.#target, path, { method: "DELETE", signal: this.#signal });
  }
}
