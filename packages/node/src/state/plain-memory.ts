import { mkdir, readFile, rm } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { cgroupUsage } from "../metrics/cgroup-usage.ts";
import type { Cgroups } from "../system/cgroups.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, writeJson } from "../system/json-file.ts";
import { mountsUnder, mountTmpfs, unmount } from "../system/mounts.ts";
import { type FormerLimit, memoryLimits, raiseLimits, restoreLimits } from "./memory-allowance.ts";
import { StateError } from "./state-error.ts";

/** A folder in memory for the plain files of an image that is encrypted on the disk. */
export interface PlainFolder extends AsyncDisposable {
  readonly folder: string;
}

interface FolderOptions {
  readonly writer?: string;
  /** Whether to wait while others use the memory. Default true. */
  readonly waits?: boolean;
}

export interface PlainMemoryOptions {
  readonly layout: Pick<Layout, "runDir" | "cgroupParent">;
  readonly cgroups: Cgroups;
  /** The limit of all sandboxes together. */
  readonly memoryBytes: number;
  /** The bytes that programs can allocate now. */
  readonly available?: () => Promise<number>;
}

const limitsSuffix = ".limits.json";
/** For folder entries, and for files that end in the middle of a page. */
const slackBytes = 4 * 1024 * 1024;
/** What stays free on the machine. */
const marginBytes = Math.min(512 * 2 ** 20, totalmem() / 16);

/**
 * Plain files of images while the runtime writes or reads them. They are in a tmpfs of their own, which only root can reach, is not
 * swapped to the disk (since Linux 6.4), and cannot become larger than what was reserved for it.
 */
export class PlainMemory {
  readonly #options: PlainMemoryOptions;
  readonly #root: string;
  readonly #used = new Set<string>();
  #reserved = 0;
  #waiting: (() => void)[] = [];

  constructor(options: PlainMemoryOptions) {
    this.#options = options;
    this.#root = join(options.layout.runDir, "plain");
  }

  /** Where the folder with a name is. */
  pathOf(name: string): string {
    return join(this.#root, name);
  }

  /** The names of folders that this process does not use: an earlier one has left them. */
  async unused(): Promise<string[]> {
    return (await namesIn(this.#root)).filter((name) => !name.endsWith(limitsSuffix) && !this.#used.has(name));
  }

  /**
   * Makes a folder that has room for so many bytes. Waits while others use the memory; throws `QuotaExceeded` when there is not
   * enough even without them. With `writer`, a Pod's cgroup, the processes of that Pod may write the files.
   */
  async make(name: string, bytes: number, { writer, waits = true }: FolderOptions = {}): Promise<PlainFolder> {
    const wanted = bytes + slackBytes;
    await this.#reserve(wanted, { isWrittenByPod: writer !== undefined, waits });
    let removal: Promise<void> | undefined;
    const remove = (): Promise<void> => {
      removal ??= this.remove(name).finally(() => {
        this.#used.delete(name);
        this.#release(wanted);
      });
      return removal;
    };
    this.#used.add(name);
    try {
      await this.remove(name);
      const folder = this.pathOf(name);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      mountUnswapped(folder, wanted);
      if (writer !== undefined) await this.#allow(name, writer, wanted);
      return { folder, [Symbol.asyncDispose]: remove };
    } catch (error) {
      await remove();
      throw error;
    }
  }

  /** Removes a folder, also one of an earlier process. */
  async remove(name: string): Promise<void> {
    const folder = this.pathOf(name);
    const mounts = await mountsUnder(folder);
    // Removed first: a process that has a copy of the mount, in its own mount namespace, would keep the files.
    if (mounts.length > 0) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    await unmount(mounts);
    await rm(folder, { recursive: true, force: true });
    await this.#restore(name);
  }

  /**
   * Tries again to restore limits of Pods that used more than their limit when their files were removed. Returns those that still
   * cannot be restored.
   */
  async restoreLeft(): Promise<readonly FormerLimit[]> {
    const names = await namesIn(this.#root);
    const left = names
      .filter((name) => name.endsWith(limitsSuffix))
      .map((name) => name.slice(0, -limitsSuffix.length))
      .filter((name) => !names.includes(name));
    return (await Promise.all(left.map((name) => this.#restore(name)))).flat();
  }

  async #restore(name: string): Promise<readonly FormerLimit[]> {
    const file = `${this.pathOf(name)}${limitsSuffix}`;
    const before = (await readJson(file).catch(() => undefined)) as readonly FormerLimit[] | undefined;
    if (before === undefined) return [];
    const left = await restoreLimits(before);
    if (left.length > 0) await writeJson(file, left);
    else await rm(file, { force: true });
    return left;
  }

  /** Raises the limits of a Pod. What they were is written down first, for the next start. */
  async #allow(name: string, cgroup: string, bytes: number): Promise<void> {
    // Otherwise each save could raise the limits further.
    const left = new Set((await this.restoreLeft()).map(({ file }) => file));
    const limits = await memoryLimits(this.#options.cgroups, cgroup);
    if (limits.some(({ file }) => left.has(file))) {
      throw new StateError("QuotaExceeded", "Cannot save the memory of the Pod: it uses more than its limit");
    }
    await writeJson(`${this.pathOf(name)}${limitsSuffix}`, limits);
    await raiseLimits(limits, bytes);
  }

  async #reserve(
    bytes: number,
    { isWrittenByPod, waits }: { readonly isWrittenByPod: boolean; readonly waits: boolean },
  ): Promise<void> {
    for (;;) {
      const free = await this.#free(isWrittenByPod);
      if (bytes <= free) break;
      if (this.#reserved === 0 || !waits) {
        const why = `encrypting or decrypting it needs ${bytes} bytes of memory, and ${Math.max(0, free)} are free`;
        throw new StateError("QuotaExceeded", `Cannot save or restore the image: ${why}`);
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#reserved += bytes;
  }

  #release(bytes: number): void {
    this.#reserved -= bytes;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const look of waiting) look();
  }

  async #free(isWrittenByPod: boolean): Promise<number> {
    const { available = availableMemory, cgroups, layout, memoryBytes } = this.#options;
    const onMachine = (await available()) - marginBytes - this.#reserved;
    if (!isWrittenByPod) return onMachine;
    const used = (await cgroupUsage(cgroups, layout.cgroupParent))?.workingSetBytes ?? 0;
    return Math.min(onMachine, memoryBytes - used - this.#reserved);
  }
}

function mountUnswapped(folder: string, sizeBytes: number): void {
  const options = { sizeBytes, mode: 0o700 };
  try {
    mountTmpfs(folder, { ...options, noSwap: true });
  } catch (error) {
    // Linux before 6.4 does not know the option.
    if (!/invalid argument|EINVAL/i.test(messageOf(error))) throw error;
    mountTmpfs(folder, options);
  }
}

async function availableMemory(): Promise<number> {
  const [, kibibytes] = /^MemAvailable: +(\d+) kB$/m.exec(await readFile("/proc/meminfo", "utf8")) ?? [];
  return Number(kibibytes ?? 0) * 1024;
}
