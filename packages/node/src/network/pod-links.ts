import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { runIp, tryIp } from "./run-ip.ts";

export interface PodLinksOptions {
  readonly layout: Pick<Layout, "bridge" | "runDir">;
  readonly gateway: string;
  readonly interfaceOf: (address: string) => string;
  readonly onAttaching: () => Promise<void>;
  readonly onAttached: () => void;
}

export interface AttachOptions {
  /** Creates the namespace for a Pod with a user namespace, which must own it. */
  readonly make?: () => Promise<void>;
  /** The Pod stays cut off until its link is set up. */
  readonly isDown?: boolean;
}

/** The Pods' network namespaces, each with the veth pair that connects it to the bridge. */
export class PodLinks {
  readonly #options: PodLinksOptions;
  readonly #attached = new Map<string, string>();
  readonly #attaching = new Map<string, Promise<void>>();

  constructor(options: PodLinksOptions) {
    this.#options = options;
  }

  /** The address of the Pod in each network namespace. */
  get attached(): ReadonlyMap<string, string> {
    return this.#attached;
  }

  adopt(netns: string, address: string): void {
    this.#attached.set(netns, address);
  }

  isAttached(netns: string, address: string): boolean {
    // A node that was killed may have left the links without their address.
    if (this.#attaching.has(netns) || existsSync(this.#mark(netns))) return false;
    return existsSync(pathOf(netns)) && this.#hasInterface(address);
  }

  #hasInterface(address: string): boolean {
    return existsSync(`/sys/class/net/${this.#options.interfaceOf(address)}`);
  }

  /** Creates the namespace and its links, replacing what a crash left behind. Concurrent calls share one operation. */
  attach(netns: string, address: string, options: AttachOptions = {}): Promise<void> {
    const under = this.#attaching.get(netns) ?? this.#attach(netns, address, options);
    this.#attaching.set(netns, under);
    return under;
  }

  async detach(netns: string, address: string | undefined): Promise<void> {
    await this.#attaching.get(netns)?.catch(() => undefined);
    const isThere = existsSync(pathOf(netns)) || (address !== undefined && this.#hasInterface(address));
    if (isThere) await this.#detach(netns, address);
    else this.#attached.delete(netns);
    await rm(this.#mark(netns), { force: true });
  }

  /** A file that exists while a namespace is not complete. Like the namespaces, it does not survive a reboot. */
  #mark(netns: string): string {
    return join(this.#options.layout.runDir, "attaching", netns);
  }

  async #attach(netns: string, address: string, options: AttachOptions): Promise<void> {
    const { onAttaching, onAttached } = this.#options;
    try {
      const mark = this.#mark(netns);
      mkdirSync(dirname(mark), { recursive: true, mode: 0o700 });
      writeFileSync(mark, "");
      if (existsSync(pathOf(netns)) || this.#hasInterface(address)) await this.#detach(netns, address);
      await onAttaching();
      await options.make?.();
      await this.#link(netns, address, options);
      rmSync(mark);
    } finally {
      this.#attaching.delete(netns);
    }
    this.#attached.set(netns, address);
    onAttached();
  }

  async #detach(netns: string, address: string | undefined): Promise<void> {
    const lines = address === undefined ? [] : [`link del ${this.#options.interfaceOf(address)}`];
    await tryIp([...lines, `netns del ${netns}`]);
    if (existsSync(pathOf(netns))) throw new NodeError("SandboxError", `Cannot remove network namespace "${netns}"`);
    this.#attached.delete(netns);
  }

  async #link(netns: string, address: string, { make, isDown = false }: AttachOptions): Promise<void> {
    const { layout, gateway, interfaceOf } = this.#options;
    const name = interfaceOf(address);
    await runIp([
      ...(make === undefined ? [`netns add ${netns}`] : []),
      `link add ${name} type veth peer name eth0 address ${hardwareOf(address)} netns ${netns}`,
      `link set ${name} master ${layout.bridge} ${isDown ? "down" : "up"}`,
    ]);
    await runIp(
      [
        "link set lo up",
        `addr add ${address}/32 dev eth0`,
        "link set eth0 up",
        `route add ${gateway} dev eth0 scope link`,
        `route add default via ${gateway} dev eth0`,
      ],
      netns,
    );
  }
}

const pathOf = (netns: string): string => `/run/netns/${netns}`;

/** Derived from the IP address, so that the machine's ARP cache is right for the next Pod with the same address. */
export const hardwareOf = (address: string): string =>
  ["02", "a5", ...address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"))].join(":");
