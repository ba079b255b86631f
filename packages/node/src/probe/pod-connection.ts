import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { NodeError } from "../errors.ts";

/** Where a Pod is reached. */
export interface PodTarget {
  /** The Pod's address. */
  readonly address: string;
  /** Connects to a port of the Pod's own loopback interface. */
  readonly dial: (port: number) => Promise<Duplex>;
}

/** Connects to one Pod and to nothing else, whatever a URL or a redirect says. */
export interface PodConnection {
  /** How the Pod is called in a URL. */
  readonly host: string;
  connect(port: number, signal: AbortSignal): Promise<Duplex>;
}

const loopback = ["localhost", "127.0.0.1", "::1"];

/**
 * For the `host` of a probe or a hook. The machine connects with its own rights, so the host can only be the Pod itself: its
 * address, or its loopback interface. Kubernetes would connect to any host from the node.
 */
export function podConnection(host: string | undefined, { address, dial }: PodTarget): PodConnection {
  const wanted = (host ?? "").toLowerCase();
  if (wanted === "" || wanted === address) {
    return { host: address, connect: (port, signal) => connectTo(address, port, signal) };
  }
  if (loopback.includes(wanted))
    return { host: "localhost", connect: (port, signal) => whileWanted(dial(port), signal) };
  throw new NodeError("RunContainerError", `Cannot connect to host "${host}": it is not this Pod`);
}

async function connectTo(host: string, port: number, signal: AbortSignal): Promise<Duplex> {
  const socket = connect({ host, port });
  try {
    await once(socket, "connect", { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** A connection that comes too late is closed. */
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
