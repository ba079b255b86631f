import { type ChildProcess, type SendHandle, spawn } from "node:child_process";
import { once } from "node:events";
import { Socket } from "node:net";
import { serveDials } from "./serve-dials.ts";

/** How long an idle process is kept. A browser that loads a page connects again within this time. */
const idleMs = 10_000;
/** Normally about 50 ms, to start the process. */
const dialTimeoutMs = 10_000;

interface Answer {
  readonly id: number;
  readonly failure?: string;
}

/**
 * A process inside a network namespace that connects to ports there and passes the connected sockets back: a socket stays in
 * the namespace in which it was created. This reaches ports that listen only on the Pod's 127.0.0.1, and no data passes
 * through the process.
 */
export class NetnsDialer implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<Socket>>();
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  #nextId = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(netnsPath: string) {
    const args = [`--net=${netnsPath}`, "--", process.execPath, "--eval", `(${serveDials.toString()})()`];
    this.#child = spawn("nsenter", args, {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      // Not our environment: it may contain secrets and NODE_OPTIONS.
      env: { PATH: process.env["PATH"] },
    });
    this.#child.on("message", (answer, handle) => this.#answer(answer as Answer, handle));
    this.ended = this.#watch();
  }

  /** Whether `dial` can still be called. */
  get isOpen(): boolean {
    return this.#child.connected;
  }

  async dial(port: number): Promise<Socket> {
    const id = this.#nextId++;
    const waiting = Promise.withResolvers<Socket>();
    this.#waiting.set(id, waiting);
    clearTimeout(this.#idle);
    const timer = setTimeout(() => waiting.reject(new Error(`no answer within ${dialTimeoutMs} ms`)), dialTimeoutMs);
    if (this.isOpen) this.#child.send({ id, port }, (error) => error && waiting.reject(error));
    else waiting.reject(new Error("the process in the network namespace has ended"));
    try {
      return await waiting.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#idle = setTimeout(() => this.#hangUp(), idleMs).unref();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#hangUp();
    await this.ended;
  }

  /** Disconnects, which makes the process exit. */
  #hangUp(): void {
    clearTimeout(this.#idle);
    if (this.#child.connected) this.#child.disconnect();
  }

  #answer({ id, failure }: Answer, handle: SendHandle | undefined): void {
    const waiting = this.#waiting.get(id);
    if (handle instanceof Socket) {
      // The dial has timed out.
      if (waiting === undefined) return void handle.destroy();
      handle.allowHalfOpen = true;
      waiting.resolve(handle);
    } else waiting?.reject(new Error(failure ?? "the socket did not arrive"));
  }

  async #watch(): Promise<void> {
    const why = await once(this.#child, "exit").then(
      ([code]) => new Error(`the process in the network namespace has ended with code ${code}`),
      (error: unknown) => error as Error,
    );
    for (const waiting of this.#waiting.values()) waiting.reject(why);
  }
}
