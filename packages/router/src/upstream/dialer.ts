import { connect, type Socket } from "node:net";
import type { Target } from "../cluster/target.ts";
import { RouterError, type RouterReason } from "../router-error.ts";

export interface DialerOptions {
  /** Whether the address belongs to the pod. Called when the connection is open and before anything is sent. */
  readonly confirms: (target: Target) => Promise<boolean>;
  /** Called when the address turns out to belong to another pod. */
  readonly onGone: (target: Target) => void;
  readonly timeoutMs: number;
}

/** Nothing has been sent yet, so the request can be retried. */
export class DialError extends RouterError {
  /** The address belongs to another pod by now. */
  readonly stale: boolean;

  constructor(reason: RouterReason, target: Target, { stale = false, cause }: { stale?: boolean; cause?: unknown }) {
    super(reason, `Could not connect to the backend sandbox: ${target.sandbox.metadata.name}`, { cause });
    this.stale = stale;
  }
}

/**
 * Opens connections to pods. An open TCP connection stays with the pod that had the address when it was opened. Therefore
 * the address is verified after the connection is open: if it belongs to the pod then, so does the connection.
 */
export class Dialer {
  readonly #options: DialerOptions;

  constructor(options: DialerOptions) {
    this.#options = options;
  }

  async dial(target: Target, signal?: AbortSignal): Promise<Socket> {
    const socket = await openSocket(target, this.#options.timeoutMs, signal);
    // Errors during the check are noticed below or when the socket is used.
    const ignore = (): void => undefined;
    socket.on("error", ignore);
    try {
      if (!(await this.#options.confirms(target))) {
        this.#options.onGone(target);
        throw new DialError("Unreachable", target, { stale: true });
      }
      if (socket.destroyed) throw new DialError("Unreachable", target, {});
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }
}

function openSocket(target: Target, timeoutMs: number, signal: AbortSignal | undefined): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: target.ip, port: target.port, noDelay: true, keepAlive: true });
    const fail = (cause: unknown): void => {
      settle();
      socket.on("error", () => undefined);
      socket.destroy();
      reject(new DialError(reasonOf(cause), target, { cause }));
    };
    const onTimeout = (): void => fail(new Error(`Cannot connect within ${timeoutMs} ms`));
    const onAbort = (): void => fail(signal?.reason);
    const timer = setTimeout(onTimeout, timeoutMs);
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      socket.removeListener("error", fail);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    socket.once("error", fail);
    socket.once("connect", () => {
      settle();
      resolve(socket);
    });
    if (signal?.aborted === true) onAbort();
  });
}

/** `Refused` means that the pod is there and the port is closed. */
function reasonOf(cause: unknown): RouterReason {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  return code === "ECONNREFUSED" ? "Refused" : "Unreachable";
}
