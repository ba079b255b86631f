/** Reads the output of a process that runs, or that has ended recently, from its beginning as far as the sandbox keeps it. */
import type { Sandbox as RunningSandbox } from "@agent-sandbox/sdk";
import { Frame } from "../../data/frames.ts";
import { OutputTail } from "./output-tail.ts";

export interface ShownOutput {
  readonly text: string;
  readonly isCut: boolean;
  readonly state: "loading" | "live" | "ended" | "failed";
  readonly error?: unknown;
}

export class OutputFollower {
  readonly #connect: () => Promise<RunningSandbox>;
  readonly #id: number;
  readonly #tail = new OutputTail();
  readonly #listeners = new Set<() => void>();
  readonly #frame = new Frame(() => this.#publish());
  #state: Pick<ShownOutput, "state" | "error"> = { state: "loading" };
  #snapshot: ShownOutput = { text: "", isCut: false, state: "loading" };

  constructor(connect: () => Promise<RunningSandbox>, id: number) {
    [this.#connect, this.#id] = [connect, id];
  }

  /** Returns a function that ends the connection. The process goes on. */
  start(): () => void {
    const left = new AbortController();
    void this.#follow(left.signal);
    return () => {
      left.abort(new Error("The view was left"));
      this.#frame.cancel();
    };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): ShownOutput => this.#snapshot;

  async #follow(signal: AbortSignal): Promise<void> {
    try {
      const sandbox = await this.#connect();
      const process = await sandbox.commands.attach(this.#id, { signal });
      this.#enter({ state: "live" });
      for await (const { text } of process.output()) {
        this.#tail.add(text);
        this.#frame.request();
      }
      this.#enter({ state: "ended" });
    } catch (error) {
      if (!signal.aborted) this.#enter({ state: "failed", error });
    }
  }

  #enter(state: Pick<ShownOutput, "state" | "error">): void {
    this.#state = state;
    this.#frame.request();
  }

  #publish(): void {
    this.#snapshot = { text: this.#tail.text, isCut: this.#tail.isCut, ...this.#state };
    for (const listener of this.#listeners) listener();
  }
}
