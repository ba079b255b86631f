/**
 * The comparison: `runsc checkpoint` and `runsc restore`, called directly. The bundle is that of a gVisor Pod of the box (same
 * layers, seccomp profile, capabilities, limits and mounts), and so are the options of runsc. Each sandbox has a root
 * filesystem, a control group and a network namespace of its own.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { layoutOf } from "../../packages/node/src/layout.ts";
import type { OciRuntime } from "../../packages/node/src/runtime/oci-runtime.ts";
import { openRuntimes } from "../../packages/node/src/runtime/open-runtimes.ts";
import { detectCgroups, removeCgroup } from "../../packages/node/src/system/cgroups.ts";
import { runCommand } from "../../packages/node/src/system/run-command.ts";
import type { NodeBox } from "../node/box.ts";
import { PodBundle } from "../node/pod-bundle.ts";
import { BareNetwork } from "./bare-network.ts";
import { countedRequests, type ServerMemory, serverCommand } from "./program.ts";

const cgroup = `/bench-state-${process.pid}`;
const patienceMs = 120_000;

export class BareHost implements AsyncDisposable {
  readonly #bundle: PodBundle;
  readonly #runtime: OciRuntime;
  readonly #owned = new AsyncDisposableStack();
  #count = 0;

  private constructor(bundle: PodBundle, runtime: OciRuntime) {
    this.#bundle = bundle;
    this.#runtime = runtime;
  }

  static async open(box: NodeBox): Promise<BareHost> {
    const model = await box.create("model", "gvisor", ["sleep", "infinity"]);
    await box.running("model");
    const bundle = PodBundle.copy(join(layoutOf(box.dataDir).podsDir, model.metadata?.uid ?? ""));
    await box.remove(model);
    const { present } = await openRuntimes({ runDir: join(bundle.folder, "run"), cgroupParent: cgroup });
    const runtime = present.get("gvisor");
    if (runtime === undefined) throw new Error("Cannot measure: gVisor does not work here");
    mkdirSync(join(bundle.folder, "data"));
    return new BareHost(bundle, runtime);
  }

  /** A folder that all sandboxes can read. */
  get data(): string {
    return join(this.#bundle.folder, "data");
  }

  /** A folder for an image. */
  imageFolder(name: string): string {
    const path = join(this.#bundle.folder, "images", name);
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  }

  /** Prepares a sandbox with a server. Every sandbox sees the folder `data` at `/data`. */
  async sandbox(memory: ServerMemory): Promise<BareSandbox> {
    this.#count += 1;
    const id = `bare-${this.#count}`;
    const network = this.#owned.use(await BareNetwork.open(this.#count));
    const { spec, folder } = this.#bundle;
    const root = { ...spec.root, path: await this.#bundle.mountRoot(id) };
    const others = spec.linux.namespaces.filter(({ type }) => type !== "user" && type !== "network");
    const namespaces = [...others.map(({ type }) => ({ type })), { type: "network", path: network.path }];
    const linux = { ...spec.linux, namespaces, cgroupsPath: `${cgroup}/${id}` };
    const process = { ...spec.process, args: serverCommand(memory) };
    const mounts = [...spec.mounts, { destination: "/data", type: "bind", source: this.data, options: ["bind", "ro"] }];
    const bundle = join(folder, "bundles", id);
    mkdirSync(bundle, { recursive: true });
    const adapted = this.#runtime.adaptSpec({ ...spec, root, linux, process, mounts });
    writeFileSync(join(bundle, "config.json"), JSON.stringify(adapted));
    const sandbox = new BareSandbox({ id, bundle, network, runtime: this.#runtime });
    this.#owned.defer(() => sandbox.remove());
    return sandbox;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
    await removeCgroup(await detectCgroups(), cgroup);
    await this.#bundle[Symbol.asyncDispose]();
  }
}

interface SandboxParts {
  readonly id: string;
  readonly bundle: string;
  readonly network: BareNetwork;
  readonly runtime: OciRuntime;
}

export interface RestoreTimes {
  /** From the start of `runsc restore --detach` until it exits. */
  readonly restoreMs: number;
  /** From the start of `runsc restore --detach` until the answer of a request that is sent when it exits. */
  readonly answerMs: number;
}

export class BareSandbox {
  readonly #parts: SandboxParts;

  constructor(parts: SandboxParts) {
    this.#parts = parts;
  }

  get cgroup(): string {
    return `${cgroup}/${this.#parts.id}`;
  }

  get address(): string {
    return this.#parts.network.address;
  }

  async start(): Promise<void> {
    await this.#parts.network.prepare();
    await this.#create("run");
    // The server listens when it has filled its memory.
    await this.#answer();
  }

  /** `runsc checkpoint`, until its files are on the disk. Returns the time. */
  async checkpoint(image: string, ...options: string[]): Promise<number> {
    const { runtime, id } = this.#parts;
    const words = ["checkpoint", "--exclude-committed-zero-pages", ...options, "--image-path", image, id];
    const started = performance.now();
    await runCommand(runtime.program, [...runtime.globalArgs, ...words], { timeoutMs: patienceMs });
    for (const name of readdirSync(image)) await sync(join(image, name));
    await sync(image);
    return performance.now() - started;
  }

  /** `runsc restore`, after the removal of the container. */
  async restore(image: string, ...options: string[]): Promise<RestoreTimes> {
    await this.remove();
    await this.#parts.network.prepare();
    const started = performance.now();
    await this.#create("restore", ...options, "--image-path", image);
    const restoreMs = performance.now() - started;
    const count = await this.#answer();
    if (count === 1) throw new Error("Cannot measure: the restored server does not remember its requests");
    return { restoreMs, answerMs: performance.now() - started };
  }

  /** Repeats the request until the server accepts it: on a busy machine a sandbox listens a moment after runsc has exited. */
  async #answer(): Promise<number> {
    const limit = performance.now() + patienceMs;
    for (;;) {
      const count = await countedRequests(this.address).catch(() => 0);
      if (count > 0) return count;
      if (performance.now() > limit) throw new Error("Cannot measure: the server does not answer");
    }
  }

  /** The memory in use by what it is used for, as gVisor accounts it. */
  async memoryUsage(): Promise<Readonly<Record<string, number>>> {
    const { runtime, id } = this.#parts;
    return JSON.parse(await runCommand(runtime.program, [...runtime.globalArgs, "usage", "--full", id]));
  }

  async remove(): Promise<void> {
    await this.#parts.runtime.remove(this.#parts.id);
  }

  async #create(verb: "run" | "restore", ...options: string[]): Promise<void> {
    const { runtime, bundle, id } = this.#parts;
    const { program, args } = runtime.runCommand;
    const words = [...args, verb, "--detach", "--bundle", bundle, ...options, id];
    // The sandbox inherits the outputs and keeps them open: a pipe would not end with runsc.
    const path = join(bundle, "stderr");
    const stderr = openSync(path, "w");
    const child = spawn(program, words, { stdio: ["ignore", "ignore", stderr] });
    closeSync(stderr);
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`Cannot measure: runsc ${verb} gave ${code}: ${readFileSync(path, "utf8")}`);
  }
}

/** The bytes of an image on the disk. */
export function imageBytes(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).blocks * 512, 0);
}

async function sync(path: string): Promise<void> {
  await using file = await open(path, "r");
  await file.sync();
}
