import { chmodSync, chownSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { open, rm, rmdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { Pod } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import { type Layout, type PodPaths, podPaths } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { libc, mountFlags } from "../system/libc.ts";
import { mountsUnder, mountTmpfs, unmount } from "../system/mounts.ts";
import { type NamespaceFiles, withNetworkNamespace, withUserNamespace } from "../system/user-namespace.ts";
import { freeRange, idsNamed, mappingOf, type PodIds } from "./id-range.ts";
import { makeSpare, type SpareNamespaces } from "./spare-namespaces.ts";

/** Room for the files of /etc and the termination messages of 50 containers, of which Kubernetes reads 4 KiB each. */
const filesBytes = 2 ** 20;

/** Delayed, because a Pod that has just started needs the processor. */
const refillAfterMs = 500;

/** An open user namespace of a Pod, and the host id of its root. */
export interface OpenUsers extends AsyncDisposable {
  readonly descriptor: number;
  readonly root: number;
}

/**
 * The user namespaces of Pods that share the machine's kernel. Each Pod has a range of host ids, and a user namespace that the
 * first of these ids created. Root in the Pod therefore has no privileges on the machine, and the kernel's per-user limits
 * (inotify instances, pending signals, keys) count for the Pod alone.
 */
export class PodUsers implements AsyncDisposable {
  readonly #layout: Layout;
  readonly #taken = new Set<number>();
  readonly #making = new Map<string, Promise<void>>();
  /** Namespaces for the next Pod, prepared because creating them takes a tenth of a Pod's start. */
  #spare: SpareNamespaces | undefined;
  /** Namespaces that are assigned to a Pod and not mounted yet, by their first id. */
  readonly #given = new Map<number, SpareNamespaces>();
  #keepsSpare = false;
  #refill: NodeJS.Timeout | undefined;
  #refilling: Promise<void> | undefined;

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  /** Starts to create namespaces before a Pod needs them. */
  keepSpare(): void {
    this.#keepsSpare = true;
    this.#scheduleSpare();
  }

  #scheduleSpare(): void {
    if (!this.#keepsSpare || this.#spare !== undefined || this.#refill !== undefined) return;
    this.#refill = setTimeout(() => {
      this.#refilling = this.#makeSpare().finally(() => {
        this.#refill = undefined;
      });
    }, refillAfterMs);
    this.#refill.unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#keepsSpare = false;
    clearTimeout(this.#refill);
    await this.#refilling;
    for (const one of [this.#spare, ...this.#given.values()]) one?.[Symbol.dispose]();
    this.#spare = undefined;
    this.#given.clear();
  }

  /** Marks the ids of a Pod that an earlier process started as in use. */
  adopt({ first }: PodIds): void {
    this.#taken.add(first);
  }

  take(pod: Pod, runtime: string): PodIds {
    const more = idsNamed(pod);
    const spare = more.length === 0 ? this.#spare : undefined;
    if (spare !== undefined) {
      this.#spare = undefined;
      this.#given.set(spare.first, spare);
    }
    this.#scheduleSpare();
    if (spare === undefined) return { first: this.#takeRange(), more, runtime };
    return { first: spare.first, more, runtime };
  }

  #takeRange(): number {
    const first = freeRange(this.#taken, Math.random);
    if (first === undefined)
      throw new NodeError("SandboxError", "Cannot give the Pod a range of user ids: all are in use");
    this.#taken.add(first);
    return first;
  }

  /** If this fails, the next Pod creates its namespaces when it starts, and reports the error. */
  async #makeSpare(): Promise<void> {
    const first = this.#takeRange();
    this.#spare = await makeSpare(first).catch(() => undefined);
    if (this.#spare === undefined) this.#taken.delete(first);
  }

  /** Creates the Pod's user namespace, and a network namespace that it owns, unless they exist. */
  prepare(uid: string, ids: PodIds): Promise<void> {
    const under = this.#making.get(uid) ?? this.#prepare(uid, ids).finally(() => this.#making.delete(uid));
    this.#making.set(uid, under);
    return under;
  }

  async open(uid: string, ids: PodIds): Promise<OpenUsers> {
    await this.prepare(uid, ids);
    return openUsers(podPaths(this.#layout, uid).users, ids.first);
  }

  /** Removes the user namespace. `PodNetwork.detach` removes the network namespace. */
  async remove(uid: string): Promise<void> {
    await this.#making.get(uid)?.catch(() => undefined);
    await removeRunFolder(podPaths(this.#layout, uid).run);
  }

  /** Makes the ids available to other Pods. */
  release({ first }: PodIds): void {
    this.#given.get(first)?.[Symbol.dispose]();
    this.#given.delete(first);
    this.#taken.delete(first);
  }

  async #prepare(uid: string, ids: PodIds): Promise<void> {
    const { run, users, files, netnsPath } = podPaths(this.#layout, uid);
    await removeOthers({ run, netnsPath }, ids);
    const hasUsers = isMounted(users);
    if (hasUsers && existsSync(netnsPath)) return;
    if (hasUsers) {
      await withNetworkNamespace(users, async ({ net }) => pin(net, netnsPath));
      return;
    }
    makeRunFolder({ run, files, netnsPath }, ids);
    await this.#withNamespaces(ids, async ({ user, net }) => {
      pin(user, users);
      if (!existsSync(netnsPath)) pin(net, netnsPath);
    });
  }

  async #withNamespaces(ids: PodIds, use: (files: NamespaceFiles) => Promise<void>): Promise<void> {
    const spare = this.#given.get(ids.first);
    if (spare === undefined) {
      await withUserNamespace({ ids: mappingOf(ids), creator: ids.first, network: true }, use);
      return;
    }
    this.#given.delete(ids.first);
    using own = spare;
    await use({ user: `/proc/self/fd/${own.user}`, net: `/proc/self/fd/${own.net}` });
  }
}

export async function openUsers(namespace: string, root: number): Promise<OpenUsers> {
  const file = await open(namespace);
  return { descriptor: file.fd, root, [Symbol.asyncDispose]: () => file.close() };
}

/** Removes namespaces that a killed process created for this Pod with other ids than those in its record. Nothing runs in them. */
async function removeOthers(
  { run, netnsPath }: Pick<PodPaths, "run" | "netnsPath">,
  { first }: Pick<PodIds, "first">,
): Promise<void> {
  const found = statSync(run, { throwIfNoEntry: false });
  if (found === undefined || found.gid === first) return;
  await removeRunFolder(run);
  if (!existsSync(netnsPath)) return;
  await unmount(await mountsUnder(netnsPath));
  await rm(netnsPath, { force: true });
}

/** Synchronous calls: the folder is in memory, so they take microseconds, less than a switch to Node's thread pool. */
function makeRunFolder(
  { run, files, netnsPath }: Pick<PodPaths, "run" | "files" | "netnsPath">,
  { first }: Pick<PodIds, "first">,
): void {
  mkdirSync(run, { recursive: true });
  // The first process of a container must pass these folders with the Pod's ids. Nobody else but root may.
  for (const folder of [dirname(dirname(run)), dirname(run)]) chmodSync(folder, 0o711);
  chmodSync(run, 0o710);
  chownSync(run, 0, first);
  mkdirSync(files, { recursive: true, mode: 0o700 });
  if (!isMounted(files)) mountTmpfs(files, { sizeBytes: filesBytes, mode: 0o700 });
  mkdirSync(dirname(netnsPath), { recursive: true });
}

/** Bind-mounts a namespace, which keeps it alive. */
function pin(namespace: string, path: string): void {
  writeFileSync(path, "", { mode: 0o600 });
  libc().mount(namespace, path, { flags: mountFlags.bind });
}

/** After a reboot the path may be an empty file without a mount, which is on the same filesystem as its folder. */
function isMounted(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.dev !== statSync(dirname(path)).dev;
}

/** Removes only empty folders and the mount point file, so that the content of a remaining mount is not deleted. */
async function removeRunFolder(run: string): Promise<void> {
  if (!existsSync(run)) return;
  await unmount(await mountsUnder(run));
  for (const name of await namesIn(run)) {
    const path = `${run}/${name}`;
    await (name === "users" ? rm(path) : rmdir(path));
  }
  await rmdir(run);
}
