/** A network namespace for a bare sandbox, with a veth pair to the machine as a Pod of the box has one. */
import { runIp, tryIp } from "../../packages/node/src/network/run-ip.ts";

/** The range reserved for benchmarks (RFC 2544). The gateway is an address of every link. */
const addressOf = (index: number): string => `198.18.${index >> 8}.${index & 255}`;
const gateway = "198.19.255.254";

export class BareNetwork implements AsyncDisposable {
  readonly address: string;
  readonly #name: string;

  private constructor(name: string, address: string) {
    this.#name = name;
    this.address = address;
  }

  static async open(index: number): Promise<BareNetwork> {
    await using undo = new AsyncDisposableStack();
    const network = undo.use(new BareNetwork(`bs${process.pid}-${index}`, addressOf(index)));
    await network.#make();
    undo.move();
    return network;
  }

  get path(): string {
    return `/run/netns/${this.#name}`;
  }

  /** Gives the interface its address again: gVisor takes it off when a sandbox starts. */
  async prepare(): Promise<void> {
    await runIp(
      [
        `addr replace ${this.address}/32 dev eth0`,
        `route replace ${gateway} dev eth0 scope link`,
        `route replace default via ${gateway} dev eth0`,
      ],
      this.#name,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await tryIp([`link del ${this.#name}`, `netns del ${this.#name}`]);
  }

  async #make(): Promise<void> {
    const name = this.#name;
    await runIp([
      `netns add ${name}`,
      `link add ${name} type veth peer name eth0 netns ${name}`,
      `addr add ${gateway}/32 dev ${name}`,
      `link set ${name} up`,
      `route replace ${this.address}/32 dev ${name}`,
    ]);
    await runIp(["link set lo up", "link set eth0 up"], name);
    await this.prepare();
  }
}
