import { apiServerAddress, serviceRange } from "@agent-sandbox/api";
import { type ApiObject, objectsAt, stringAt, valueAt } from "../../api-object.ts";

/** The first half of every address in `serviceRange`. The first two and the last address of the range are never allocated. */
const network = serviceRange.replace(/0\.0\/16$/, "");
const addresses = 2 ** 16;
const ports = { first: 30_000, count: 2768 };
/** Recent allocations that are not repeated, because they may not be saved yet. More than can be in progress at once. */
const maxRecent = 4096;

/** Allocates unique addresses and node ports for Services. */
export class ServiceAddresses {
  readonly #services: () => Iterable<ApiObject>;
  readonly #recent = new Set<string>();

  constructor(services: () => Iterable<ApiObject>) {
    this.#services = services;
  }

  /** A free address; `undefined` if there is none. */
  address(): string | undefined {
    const taken = this.#clusterIPs();
    return this.#pick(
      addresses - 3,
      (at) => addressAt(at + 2),
      (address) => taken.has(address),
    );
  }

  /** Why a Service cannot have a requested IPv4 address, in the words of kube-apiserver. */
  addressProblem(address: string): string | undefined {
    if (!isServiceAddress(address)) return "the provided network does not match the current range";
    return address === apiServerAddress || this.#clusterIPs().has(address)
      ? "provided IP is already allocated"
      : undefined;
  }

  #clusterIPs(): Set<string | undefined> {
    return new Set([...this.#services()].map((service) => stringAt(service, "spec", "clusterIP")));
  }

  /** Why a Service cannot have a requested port; `undefined` if it can. */
  nodePortProblem(port: number): string | undefined {
    const last = ports.first + ports.count - 1;
    if (port < ports.first || port > last) {
      return `provided port is not in the valid range. The range of valid ports is ${ports.first}-${last}`;
    }
    return this.#nodePorts().has(String(port)) ? "provided port is already allocated" : undefined;
  }

  #nodePorts(): Set<string> {
    return new Set(
      [...this.#services()].flatMap((service) =>
        objectsAt(service, "spec", "ports").map((port) => String(valueAt(port, "nodePort"))),
      ),
    );
  }

  nodePort(): number | undefined {
    const taken = this.#nodePorts();
    const port = this.#pick(
      ports.count,
      (at) => String(ports.first + at),
      (text) => taken.has(text),
    );
    return port === undefined ? undefined : Number(port);
  }

  /** Starts at a random place, so that an address is rarely reused while clients still use it for its old owner. */
  #pick(count: number, nameOf: (at: number) => string, isTaken: (name: string) => boolean): string | undefined {
    const start = Math.floor(Math.random() * count);
    for (let step = 0; step < count; step += 1) {
      const name = nameOf((start + step) % count);
      if (isTaken(name) || this.#recent.has(name)) continue;
      this.#remember(name);
      return name;
    }
    return undefined;
  }

  #remember(name: string): void {
    this.#recent.add(name);
    if (this.#recent.size > maxRecent) this.#recent.delete(this.#recent.values().next().value as string);
  }
}

const addressAt = (at: number): string => `${network}${at >> 8}.${at & 255}`;

function isServiceAddress(address: string): boolean {
  const parts = address.split(".").map(Number);
  const at = (parts[2] ?? 0) * 256 + (parts[3] ?? 0);
  return address.startsWith(network) && address === addressAt(at) && at > 0 && at < addresses - 1;
}
