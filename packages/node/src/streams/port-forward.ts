import type { Socket } from "node:net";
import { KubeError, type PortForwardRequest } from "@agent-sandbox/kube";
import { messageOf } from "../errors.ts";
import { containerId, podPaths } from "../layout.ts";
import type { PodRecord } from "../pod/record.ts";
import { connectTcp } from "../system/connect-tcp.ts";
import { findPod, type StreamOptions } from "./find-container.ts";
import { NetnsDialer } from "./netns-dialer.ts";

/** One per Pod with forwarded ports. Each is a process of about 40 MB. */
const mostDialers = 64;
/** The limit for the Pods of one namespace. */
const mostOfOne = 16;
const connectTimeoutMs = 5000;

export class PortForward implements AsyncDisposable {
  readonly #options: StreamOptions;
  readonly #dialers = new Map<string, { readonly dialer: NetnsDialer; readonly namespace: string }>();

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  async portForward(request: PortForwardRequest): Promise<Socket> {
    const { port } = request;
    const name = `${request.namespace}/${request.pod}`;
    const record = await findPod(this.#options, request, "forward a port of");
    if (!record.prepared || record.released) {
      throw new KubeError("BadRequest", `Cannot forward a port of Pod "${name}": it has ended`);
    }
    try {
      return await (this.#dialInside(record, port) ?? this.#dialer(record).dial(port));
    } catch (error) {
      if (error instanceof KubeError) throw error;
      // A server that listens on all addresses can also be reached through the Pod's address.
      const socket = await reach(record.address, port);
      if (socket !== undefined) return socket;
      const message = `Cannot connect to port ${port} of Pod "${name}": ${messageOf(error)}`;
      throw new KubeError("BadRequest", message, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#dialers.values()].map(({ dialer }) => dialer[Symbol.asyncDispose]()));
  }

  /** Connects inside the sandbox, for runtimes with their own network stack: there the network namespace is empty. */
  #dialInside({ uid, containers }: PodRecord, port: number): Promise<Socket> | undefined {
    for (const [name, { run, ended, runtime, attempt }] of Object.entries(containers)) {
      if (!run?.started || ended !== undefined) continue;
      return this.#options.machine.runtimes.get(runtime)?.dial?.(containerId(uid, name, attempt), port);
    }
    return undefined;
  }

  #dialer({ uid, namespace }: PodRecord): NetnsDialer {
    const open = this.#dialers.get(uid)?.dialer;
    if (open?.isOpen) return open;
    const own = [...this.#dialers.values()].filter((each) => each.namespace === namespace).length;
    if (this.#dialers.size >= mostDialers || own >= mostOfOne) {
      const most = `${mostDialers} Pods at a time, or of ${mostOfOne} in one namespace`;
      throw new KubeError("TooManyRequests", `Cannot forward ports of more than ${most}`);
    }
    const dialer = new NetnsDialer(podPaths(this.#options.machine.layout, uid).netnsPath);
    this.#dialers.set(uid, { dialer, namespace });
    void dialer.ended.then(() => this.#forget(uid, dialer));
    return dialer;
  }

  #forget(uid: string, dialer: NetnsDialer): void {
    if (this.#dialers.get(uid)?.dialer === dialer) this.#dialers.delete(uid);
  }
}

async function reach(host: string, port: number): Promise<Socket | undefined> {
  const signal = AbortSignal.timeout(connectTimeoutMs);
  return connectTcp(host, port, { signal, allowHalfOpen: true }).catch(() => undefined);
}
