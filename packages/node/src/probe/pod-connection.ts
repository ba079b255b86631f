import type { Duplex } from "node:stream";
import { NodeError } from "../errors.ts";
import { connectTcp } from "../system/connect-tcp.ts";

export interface PodTarget {
  readonly address: string;
  /** Connects to a port of the Pod's own loopback interface. */
  readonly dial: (port: number) => Promise<Duplex>;
}

/** Connects to one Pod only, whatever host a URL or redirect names. */
export interface PodConnection {
  /** The Pod's host in URLs. */
  readonly host: string;
  connect(port: number, signal: AbortSignal): Promise<Duplex>;
}

const loopback = ["localhost", "127.0.0.1", "::1"];

/**
 * The connection for the `host` of a probe or hook. The node connects from the machine's network, so a tenant may only name
 * the Pod itself: its address, or its loopback interface. A kubelet would connect to any host.
 */
export function podConnection(host: string | undefined, { address, dial }: PodTarget): PodConnection {
  const wanted = (host ?? "").toLowerCase();
  if (wanted === "" || wanted === address) {
    return { host: address, connect: (port, signal) => connectTcp(address, port, { signal }) };
  }
  if (loopback.includes(wanted))
    return { host: "localhost", connect: (port, signal) => whileWanted(dial(port), signal) };
  throw new NodeError("RunContainerError", `Cannot connect to host "${host}": it is not this Pod`);
}

/** Closes a connection that is established after the abort. */
async function whileWanted(dialled: Promise<Duplex>, signal: AbortSignal): Promise<Duplex> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([dialled, aborted.promise]);
  } catch (error) {
    dialled.then(
      (socket) => socket.destroy(),
      () => undefined,
    );
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
