/**
 * The comparison: the same OCI runtimes, called directly. The bundle is that of a gVisor Pod of the box (same seccomp profile,
 * capabilities, limits, mounts and namespaces), with its own root filesystem from the same layers, mounted once. Two things differ: the
 * runtime creates an empty network namespace itself, and there is no user namespace.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OciSpec } from "../../packages/node/src/oci/spec.ts";
import type { OciRuntime } from "../../packages/node/src/runtime/oci-runtime.ts";
import { openRuntimes } from "../../packages/node/src/runtime/open-runtimes.ts";
import { detectCgroups, removeCgroup } from "../../packages/node/src/system/cgroups.ts";
import type { RuntimeName } from "./box.ts";
import { PodBundle } from "./pod-bundle.ts";

export interface BareTimes {
  /** From the start of the runtime to the first byte of output. */
  readonly outputMs: number;
  /** Until it exits and the container is removed. */
  readonly endMs: number;
}

const cgroup = "/bench-node-bare";

export class BareRuntimes implements AsyncDisposable {
  readonly #bundle: PodBundle;
  readonly #spec: OciSpec;
  readonly #runtimes: ReadonlyMap<string, OciRuntime>;
  #count = 0;

  private constructor(bundle: PodBundle, spec: OciSpec, runtimes: ReadonlyMap<string, OciRuntime>) {
    this.#bundle = bundle;
    this.#spec = spec;
    this.#runtimes = runtimes;
  }

  /** @param pod The folder of a running Pod of the box. */
  static async open(pod: string): Promise<BareRuntimes> {
    const bundle = PodBundle.copy(pod);
    const { present } = await openRuntimes({ runDir: join(bundle.folder, "run"), cgroupParent: cgroup });
    const path = await bundle.mountRoot("main");
    return new BareRuntimes(bundle, { ...bundle.spec, root: { ...bundle.spec.root, path } }, present);
  }

  /** `runc run`, until it exits. */
  async run(runtime: RuntimeName, command: readonly string[]): Promise<BareTimes> {
    const { program, args, id } = this.#prepare(runtime, command);
    const started = performance.now();
    const child = spawn(program, [...args, id], { stdio: ["ignore", "pipe", "inherit"] });
    const exited = once(child, "exit");
    let outputMs = Number.NaN;
    child.stdout.once("data", () => {
      outputMs = performance.now() - started;
    });
    const [code] = (await exited) as [number | null];
    const endMs = performance.now() - started;
    if (code !== 0) throw new Error(`Cannot measure: bare ${runtime} run gave ${code}`);
    return { outputMs, endMs };
  }

  /** `runc run --detach`. Returns the id of the container. */
  async start(runtime: RuntimeName, command: readonly string[]): Promise<string> {
    const { program, args, id } = this.#prepare(runtime, command);
    const child = spawn(program, [...args, "--detach", id], { stdio: "ignore" });
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`Cannot measure: bare ${runtime} run --detach gave ${code}`);
    return id;
  }

  /** `runc exec`, until it exits. Returns the time. */
  async exec(runtime: RuntimeName, id: string, command: readonly string[]): Promise<number> {
    const { program, globalArgs } = this.#runtime(runtime);
    const started = performance.now();
    const child = spawn(program, [...globalArgs, "exec", id, ...command], { stdio: ["ignore", "pipe", "inherit"] });
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`Cannot measure: bare ${runtime} exec gave ${code}`);
    return performance.now() - started;
  }

  async remove(runtime: RuntimeName, id: string): Promise<void> {
    await this.#runtime(runtime).remove(id);
  }

  cgroupOf(id: string): string {
    return `${cgroup}/${id}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const runtime of this.#runtimes.values()) for (const id of await runtime.list()) await runtime.remove(id);
    await removeCgroup(await detectCgroups(), cgroup);
    await this.#bundle[Symbol.asyncDispose]();
  }

  #runtime(name: RuntimeName): OciRuntime {
    const runtime = this.#runtimes.get(name);
    if (runtime === undefined) throw new Error(`Cannot measure: no ${name} works here`);
    return runtime;
  }

  #prepare(name: RuntimeName, command: readonly string[]): { program: string; args: readonly string[]; id: string } {
    this.#count += 1;
    const id = `bare-${this.#count}`;
    const bundle = join(this.#bundle.folder, id);
    const others = this.#spec.linux.namespaces.filter(({ type }) => type !== "user");
    const namespaces = others.map(({ type }) => ({ type }));
    const linux = { ...this.#spec.linux, namespaces, cgroupsPath: this.cgroupOf(id) };
    const process = { ...this.#spec.process, args: command };
    // The Pod's runtime may have added a mount for itself.
    const mounts = this.#spec.mounts.filter(({ destination }) => destination !== "/tmp");
    const runtime = this.#runtime(name);
    mkdirSync(bundle);
    const spec = runtime.adaptSpec({ ...this.#spec, linux, process, mounts });
    writeFileSync(join(bundle, "config.json"), JSON.stringify(spec));
    const { program, args } = runtime.runCommand;
    return { program, args: [...args, "run", "--bundle", bundle], id };
  }
}
