/** The two servers of the benchmark: the embedded one, bundled as in a release, and kube-apiserver with etcd. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { build } from "esbuild";
import { startKubernetes } from "../../test/kube-apiserver/start.ts";
import type { Server } from "./task.ts";

export interface Usage {
  readonly heldBytes: number;
  readonly jsonBytes: number;
  readonly cpuMs: number;
}

export async function bundleServer(folder: string): Promise<string> {
  const outfile = join(folder, "api-server.mjs");
  await build({
    entryPoints: [join(import.meta.dirname, "server.ts")],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    conditions: ["source"],
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "error",
  });
  return outfile;
}

export class EmbeddedServer implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly server: Server;
  /** From the start of the process until it prints its address. */
  readonly readyMs: number;

  private constructor(child: ChildProcess, lines: AsyncIterator<string>, ready: { server: Server; readyMs: number }) {
    this.#child = child;
    this.#lines = lines;
    this.server = ready.server;
    this.readyMs = ready.readyMs;
  }

  static async start(script: string, folder: string, pods = 0): Promise<EmbeddedServer> {
    const started = performance.now();
    // The launcher uses the same memory flags.
    const memory = ["--min-semi-space-size=16", "--max-semi-space-size=32"];
    const flags = ["--expose-gc", ...memory, "--disable-warning=ExperimentalWarning"];
    const child = spawn(process.execPath, [...flags, script, folder, String(pods)], {
      stdio: ["pipe", "pipe", "inherit"],
      // As in the launcher. The first start fills the cache.
      env: { ...process.env, NODE_COMPILE_CACHE: join(dirname(script), "compiled") },
    });
    const input: Interface = createInterface({ input: child.stdout });
    const lines = input[Symbol.asyncIterator]();
    const { value, done } = await lines.next();
    if (done === true) throw new Error("Cannot measure: the embedded server ended before it served");
    const server = JSON.parse(value) as Server;
    return new EmbeddedServer(child, lines, { server, readyMs: performance.now() - started });
  }

  async usage(): Promise<Usage> {
    this.#child.stdin?.write("usage\n");
    const { value } = await this.#lines.next();
    return JSON.parse(String(value)) as Usage;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.stdin?.end();
    await exited;
  }
}

export interface RealServer extends AsyncDisposable {
  readonly server: Server;
}

/** etcd waits for the disk, as our store does. Returns undefined and prints the reason if kube-apiserver cannot start here. */
export async function startReal(): Promise<RealServer | undefined> {
  try {
    const kubernetes = await startKubernetes({ etcd: "disk", controllers: [], heapGrowthPercent: 100 });
    const authority = readFileSync(kubernetes.authority.certificate, "utf8");
    const server = { url: kubernetes.url, authority, token: kubernetes.admin.token };
    return { server, [Symbol.asyncDispose]: () => kubernetes.stop() };
  } catch (error) {
    console.log(
      `No real kube-apiserver here, so only our figures: ${error instanceof Error ? error.message : String(error)}\n`,
    );
    return undefined;
  }
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
