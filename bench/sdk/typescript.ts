import { connect, type Sandbox, type SandboxClient } from "@agent-sandbox/sdk";
import type { Contender, Measured, Order } from "./contender.ts";

export async function timed(work: () => Promise<unknown>): Promise<Measured> {
  const started = performance.now();
  await work();
  return { ms: performance.now() - started };
}

/** Measures the TypeScript SDK. */
export class TypeScriptContender implements Contender {
  readonly #client: SandboxClient;
  readonly #pool: string;
  #opened: Sandbox | undefined;
  #content = new Uint8Array();

  private constructor(client: SandboxClient, pool: string) {
    this.#client = client;
    this.#pool = pool;
  }

  static async open(dataDir: string, pool: string): Promise<TypeScriptContender> {
    return new TypeScriptContender(await connect({ dataDir }), pool);
  }

  async measure(order: Order): Promise<Measured> {
    switch (order.do) {
      case "first":
        return this.#first();
      case "open":
        this.#opened = await this.#client.get(order.sandbox);
        return { ms: 0 };
      case "exec":
        return timed(() => this.#sandbox.commands.run(["true"]));
      case "parallel":
        return this.#parallel(order.count);
      case "write":
        if (this.#content.length !== order.bytes) this.#content = contentOf(order.bytes);
        return timed(() => this.#sandbox.files.write(order.path, this.#content));
      case "read":
        return timed(async () => {
          const { length } = await this.#sandbox.files.read(order.path);
          if (length !== order.bytes) throw new Error(`Cannot measure: read ${length} bytes instead of ${order.bytes}`);
        });
      default:
        return order satisfies never;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
  }

  get #sandbox(): Sandbox {
    if (this.#opened === undefined) throw new Error("Cannot measure: no sandbox was opened");
    return this.#opened;
  }

  async #first(): Promise<Measured> {
    const started = performance.now();
    const sandbox = await this.#client.create({ pool: this.#pool });
    const ready = performance.now() - started;
    const { stdout } = await sandbox.commands.run("echo ready");
    const ms = performance.now() - started;
    if (stdout !== "ready\n") throw new Error(`Cannot measure: echo printed "${stdout}"`);
    await sandbox.delete();
    return { ms, ready_ms: ready };
  }

  async #parallel(count: number): Promise<Measured> {
    let failures = 0;
    const run = async (index: number): Promise<void> => {
      const { stdout } = await this.#sandbox.commands.run(`echo ${index}`, { timeoutMs: 120_000 });
      if (stdout !== `${index}\n`) failures += 1;
    };
    const numbers = [...Array(count).keys()];
    const { ms } = await timed(() => Promise.all(numbers.map((each) => run(each).catch(() => void (failures += 1)))));
    return { ms, failures };
  }
}

export function contentOf(bytes: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes).map((_, index) => index % 251);
}
