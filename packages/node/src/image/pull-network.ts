import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, createServer, isIPv4, type Server } from "node:net";
import type { Layout } from "../layout.ts";
import { runIp } from "../network/run-ip.ts";
import { listenInNetns } from "../system/listen-in-netns.ts";
import { tryCommand } from "../system/run-command.ts";
import { pullProxy } from "./pull-proxy.ts";
import { PullSession, type SessionLimits } from "./pull-session.ts";
import { operatorHosts, pullTargets } from "./pull-targets.ts";
import type { RegistrySettings } from "./registries.ts";
import { upstreamProxy } from "./upstream-proxy.ts";

/** How to run the program of one pull. */
export interface OpenPull extends Disposable {
  /** Command prefix that enters the network namespace. */
  readonly enter: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Aborted when the registry sends too much or too slowly. */
  readonly signal: AbortSignal;
  /** Why the last connection could not be made. */
  readonly trouble: string | undefined;
}

export interface PullOptions extends SessionLimits {
  /** The operator's registries at this moment. */
  readonly registries: readonly RegistrySettings[];
}

export interface PullNetwork extends AsyncDisposable {
  open(options: PullOptions): Promise<OpenPull>;
}

export function pullNetns({ id }: Pick<Layout, "id">): string {
  return `asbpull-${id}`;
}

/**
 * Runs the programs that pull images in a network namespace with only a loopback interface. The proxy listens there, and a
 * forwarder for each registry that the operator runs on the machine's loopback. Hosts that a registry refers to, by a
 * redirect, a token realm or the URL of a layer, are therefore checked like the registry itself.
 */
export class IsolatedPulls implements PullNetwork {
  readonly #netns: string;
  readonly #sessions = new Map<string, PullSession>();
  readonly #servers: Server[] = [];
  /** Forwarders to the operator's registries on loopback, by address and port. */
  readonly #forwarders = new Map<string, Server>();
  #registries: readonly RegistrySettings[] = [];
  #started: Promise<number> | undefined;
  /** Changes of the forwarders, one after the other. */
  #changes: Promise<void> = Promise.resolve();

  constructor(layout: Layout) {
    this.#netns = pullNetns(layout);
  }

  async open({ registries, ...limits }: PullOptions): Promise<OpenPull> {
    this.#started ??= this.#start().catch((error: unknown) => {
      this.#started = undefined;
      throw error;
    });
    const port = await this.#started;
    this.#registries = registries;
    this.#changes = this.#changes.catch(() => undefined).then(() => this.#forward(loopbackRegistries(registries)));
    await this.#changes;
    const session = new PullSession(limits, () => this.#sessions.delete(session.id));
    this.#sessions.set(session.id, session);
    const proxy = `http://${session.id}:x@127.0.0.1:${port}`;
    return {
      enter: ["nsenter", `--net=/run/netns/${this.#netns}`, "--"],
      env: { HTTPS_PROXY: proxy, HTTP_PROXY: proxy, NO_PROXY: "" },
      signal: session.signal,
      get trouble() {
        return session.trouble;
      },
      [Symbol.dispose]: () => session[Symbol.dispose](),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions.values()) session[Symbol.dispose]();
    await this.#started?.catch(() => undefined);
    await this.#changes.catch(() => undefined);
    for (const server of [...this.#servers, ...this.#forwarders.values()]) server.close();
  }

  async #start(): Promise<number> {
    const path = `/run/netns/${this.#netns}`;
    if (!existsSync(path)) await runIp([`netns add ${this.#netns}`]);
    await runIp(["link set lo up"], this.#netns);
    const upstream = upstreamProxy(process.env);
    const unresolved = upstream === undefined ? "refuse" : "pass";
    const proxy = pullProxy({
      find: (target) => pullTargets(this.#registries, { unresolved })(target),
      sessionOf: (id) => this.#sessions.get(id),
      upstream,
    });
    this.#servers.push(proxy);
    return listen(proxy, listenInNetns(path, "127.0.0.1", 0));
  }

  /** Starts the missing forwarders, and closes those of registries that the operator has removed. */
  async #forward(wanted: readonly { readonly address: string; readonly port: number }[]): Promise<void> {
    const names = new Set(wanted.map(({ address, port }) => `${address}:${port}`));
    for (const [name, server] of this.#forwarders) {
      if (names.has(name)) continue;
      server.close();
      this.#forwarders.delete(name);
    }
    for (const { address, port } of wanted) {
      if (this.#forwarders.has(`${address}:${port}`)) continue;
      const server = createServer((socket) => {
        const remote = connect({ host: address, port });
        remote.on("error", () => socket.destroy());
        socket.on("error", () => remote.destroy());
        socket.pipe(remote).pipe(socket);
      });
      await listen(server, listenInNetns(`/run/netns/${this.#netns}`, address, port));
      this.#forwarders.set(`${address}:${port}`, server);
    }
  }
}

async function listen(server: Server, fd: number): Promise<number> {
  server.listen({ fd });
  await once(server, "listening");
  server.unref();
  return (server.address() as { port: number }).port;
}

export async function removePullNetns(layout: Pick<Layout, "id">): Promise<void> {
  await tryCommand("ip", ["netns", "del", pullNetns(layout)]);
}

/** The operator's registries on loopback. They need a forwarder, because Go programs do not use a proxy for loopback addresses. */
export function loopbackRegistries(registries: readonly RegistrySettings[]): { address: string; port: number }[] {
  const found = operatorHosts(registries).flatMap((text) => {
    const colon = text.lastIndexOf(":");
    const host = text.slice(0, colon) === "localhost" ? "127.0.0.1" : text.slice(0, colon);
    return isIPv4(host) && host.startsWith("127.") ? [`${host}:${text.slice(colon + 1)}`] : [];
  });
  return [...new Set(found)].map((text) => {
    const [address = "", port] = text.split(":");
    return { address, port: Number(port) };
  });
}
