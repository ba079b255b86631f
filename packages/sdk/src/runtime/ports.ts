import type { CallOptions, Deadline } from "../deadline.ts";
import { SandboxError } from "../errors.ts";
import { readText } from "../http/exchange.ts";
import { operate } from "../telemetry/operation.ts";
import { callJson } from "./rest.ts";
import type { Router, Target } from "./router.ts";

export interface OpenPort {
  readonly port: number;
  readonly address: string;
  readonly command: string;
}

const defaultTimeoutMs = 60_000;

/**
 * The ports that programs in a sandbox listen on.
 *
 * @example
 * ```ts
 * import { connect } from "@agent-sandbox/sdk";
 *
 * using client = await connect();
 * await using sandbox = await client.create({ image: "host" });
 * await using server = await sandbox.commands.start(["python3", "-m", "http.server", "8000"]);
 * await sandbox.ports.wait(8000, { http: "/" });
 * console.log(sandbox.ports.url(8000).includes(sandbox.name), (await sandbox.ports.list()).some(({ port }) => port === 8000));
 * // Output: true true
 * ```
 */
export class Ports {
  readonly #router: Router;
  readonly #target: Target;

  constructor(router: Router, target: Target) {
    this.#router = router;
    this.#target = target;
  }

  /** The address of a port through the router. Requests need a credential; for a browser use `loginUrl`. */
  url(port: number): string {
    const { name, namespace } = this.#target;
    const url = new URL(this.#router.url);
    url.hostname = `${port}-${name}.${namespace}.${isLocal(url.hostname) ? "localhost" : url.hostname}`;
    return url.href;
  }

  /** A link that opens a port in a browser. It is valid for one minute and can be used once. */
  loginUrl(port: number, options: CallOptions = {}): Promise<string> {
    const { name, namespace } = this.#target;
    const doing = `Cannot create a login link for port ${port}`;
    const path = `/router/v1/namespaces/${namespace}/sandboxes/${name}/logins`;
    const body = JSON.stringify({ ports: [port] });
    return this.#operate("ports.loginUrl", { doing, options }, async (deadline) => {
      const response = await this.#router.control({ doing, deadline, method: "POST", path, body });
      return (JSON.parse(await readText(response.body)) as { url: string }).url;
    });
  }

  /** The ports that are open now. */
  list(options: CallOptions = {}): Promise<OpenPort[]> {
    const doing = "Cannot list the ports";
    return this.#operate("ports.list", { doing, options }, async (deadline) => {
      const call = { doing, deadline, method: "GET", path: "/ports" } as const;
      const { ports = [] } = await callJson<{ ports?: OpenPort[] }>(this.#router, this.#target, call);
      return ports.map(({ port, address, command }) => ({ port, address, command }));
    });
  }

  /** Waits until a program listens on the port; with `http`, until it answers there with a status below 500. Default: one minute. */
  wait(port: number, options: CallOptions & { readonly http?: string } = {}): Promise<void> {
    const doing = `Cannot wait for port ${port}`;
    return this.#operate("ports.wait", { doing, options }, async (deadline) => {
      for (;;) {
        const query = {
          wait: `${Math.min(20, Math.max(0.1, deadline.remainingMs / 1000 - 0.5)).toFixed(1)}s`,
          http: options.http,
        };
        const call = { doing, deadline, method: "GET", path: `/ports/${port}`, query } as const;
        const { ready, reason } = await callJson<{ ready: boolean; reason?: string }>(this.#router, this.#target, call);
        if (ready) return;
        if (deadline.remainingMs < 600)
          throw new SandboxError("TimedOut", `${doing}: ${reason ?? "nothing listens there"}`);
      }
    });
  }

  #operate<T>(
    name: string,
    call: { readonly doing: string; readonly options: CallOptions },
    work: (deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const operation = { name, sandbox: this.#target, defaultMs: defaultTimeoutMs, ...call };
    return operate(this.#router.tracing, operation, work);
  }
}

function isLocal(hostname: string): boolean {
  return hostname === "localhost" || /^[0-9.]+$/.test(hostname) || hostname.startsWith("[");
}
