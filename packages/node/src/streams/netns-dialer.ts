import { type ChildProcess, type SendHandle, spawn } from "node:child_process";
import { once } from "node:events";
import { Socket } from "node:net";
import { serveDials } from "./serve-dials.ts";

/** How long a process stays when nobody dials: a browser that opens a page comes back within moments. */
const idleMs = 10_000;
/** The process starts in some 50 ms; connecting within a machine takes none. */
const dialTimeoutMs = 10_000;

interface Answer {
  readonly id: number;
  readonly failure?: string;
}

/**
 * A process inside a network namespace that connects to ports there and hands us the connected sockets: a socket
 * stays in the namespace it was made in, whoever holds it. So a port that listens on the Pod's own 127.0.0.1 alone is
 * reached, and none of what is said passes through that process.
 */
export class NetnsDialer implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<Socket>>();
  /** Settles when the process is gone. */
  readonly ended: Promise<void>;
  #nextId = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(netnsPath: string) {
    const args = [`--net=${netnsPath}`, "--", process.execPath, "--eval", `(${serveDials.toString()})()`];
    this.#child = spawn("nsenter", args, {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      // Nothing else of our own environment is for it, least of all options for Node.
      env: { PATH: process.env["PATH"] },
    });
    this.#child.on("message", (answer, handle) => this.#answer(answer as Answer, handle));
    this.ended = this.#watch();
  }

  /** Whether it can still be asked. */
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

  /** It ends by itself when nobody is there to answer to. */
  #hangUp(): void {
    clearTimeout(this.#idle);
    if (this.#child.connected) this.#child.disconnect();
  }

  #answer({ id, failure }: Answer, handle: SendHandle | undefined): void {
    const waiting = this.#waiting.get(id);
    if (handle instanceof Socket) {
      // Too late for whoever asked.
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
