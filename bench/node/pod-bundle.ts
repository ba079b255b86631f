/** The OCI bundle of a Pod of the box, copied so that the runtimes can be called on it directly. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { OciSpec } from "../../packages/node/src/oci/spec.ts";
import { mountOverlay, mountsUnder, unmount } from "../../packages/node/src/system/mounts.ts";

const container = "containers/main";

export class PodBundle implements AsyncDisposable {
  /** Where the copy is. Callers may create further files in it. */
  readonly folder: string;
  /** The Pod's specification, with paths into `folder`. The root filesystem is not mounted. */
  readonly spec: OciSpec;
  readonly #lower: string;

  private constructor(folder: string, spec: OciSpec, lower: string) {
    this.folder = folder;
    this.spec = spec;
    this.#lower = lower;
  }

  /** @param pod The folder of a running Pod of the box whose container is called `main`. */
  static copy(pod: string): PodBundle {
    const folder = mkdtempSync("/var/tmp/bench-bundle-");
    mkdirSync(join(folder, container), { recursive: true });
    for (const name of ["etc", `${container}/messages`])
      cpSync(join(pod, name), join(folder, name), { recursive: true });
    const record = JSON.parse(readFileSync(join(pod, "pod.json"), "utf8"));
    const text = readFileSync(join(pod, container, "bundle/config.json"), "utf8").replaceAll(pod, folder);
    return new PodBundle(folder, JSON.parse(text), join(pod, "../../images", record.containers.main.image));
  }

  /** Mounts a root filesystem from the Pod's layers, with a writable layer of its own. Returns the mount point. */
  async mountRoot(name: string): Promise<string> {
    const [target, upper, work] = ["rootfs", "upper", "work"].map((part) => join(this.folder, "roots", name, part)) as [
      string,
      string,
      string,
    ];
    for (const path of [target, upper, work]) mkdirSync(path, { recursive: true });
    await mountOverlay(target, { lower: [this.#lower], upper, work });
    return target;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await unmount(await mountsUnder(this.folder));
    rmSync(this.folder, { recursive: true, force: true });
  }
}
