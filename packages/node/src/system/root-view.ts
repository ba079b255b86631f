import { closeSync, constants, fstatSync, mkdirSync, openSync, readlinkSync } from "node:fs";
import { hasCode } from "../errors.ts";

/** O_PATH, which Node does not define. The same on all architectures of Linux. */
const pathOnly = 0o10_000_000;
/** The kernel's limit (MAXSYMLINKS). */
const mostLinks = 40;
const mostFolders = 128;

/** What to do with a path that does not exist: create it, or return it as written. */
export type Missing = "make folder" | "make file" | "as written";

export interface Cover {
  /** The mounted folder or file of the machine; undefined for a filesystem that the runtime creates. */
  readonly source: string | undefined;
  readonly readOnly: boolean;
}

interface Place extends Cover {
  readonly path: string;
  /** Undefined where nothing can be looked up: in the runtime's filesystems, and below paths that do not exist. */
  readonly descriptor: number | undefined;
}

/**
 * A root filesystem as its container will see it, with the mounts that were added so far. Containers can write to the root
 * filesystem and to volumes, so paths are resolved one component at a time through descriptors: links resolve below the root,
 * as they will for the container, and never lead to the machine's files. Synchronous, because each call looks up one name.
 */
export class RootView {
  readonly #root: string;
  readonly #links: "beneath" | "inside";
  readonly #covers = new Map<string, Cover>();

  /**
   * `beneath`: the folder becomes the container's root, so a link to `/etc` leads to the folder's own `etc`.
   * `inside`: the folder is mounted elsewhere, so a link that leads out of it is an error.
   */
  constructor(root: string, links: "beneath" | "inside" = "beneath") {
    this.#root = root;
    this.#links = links;
  }

  /** Adds a mount at a path that `resolve` returned. */
  cover(path: string, cover: Cover): void {
    for (const below of this.#covers.keys()) if (below.startsWith(`${path}/`)) this.#covers.delete(below);
    this.#covers.set(path, cover);
  }

  /** Resolves the links of a path. */
  resolve(path: string, missing: Missing): string {
    using walk = new Walk({ source: this.#root, readOnly: false }, this.#covers);
    const rest = namesOf(path);
    for (let links = 0; rest.length > 0; ) {
      const name = rest.pop() as string;
      if (name === ".." && walk.path === "/" && this.#links === "inside") throw this.#outside(path);
      const found = walk.enter(name, rest.length > 0 && missing === "make file" ? "make folder" : missing);
      if (found === undefined) continue;
      const target = this.#links === "inside" ? this.#targetInside(found, path) : found;
      links += 1;
      if (links > mostLinks) throw new Error(`"${path}" leads through more than ${mostLinks} links`);
      if (target.startsWith("/")) walk.toRoot();
      rest.push(...namesOf(target));
    }
    return walk.path;
  }

  /** An absolute link may lead into the folder by its path on the machine. */
  #targetInside(target: string, path: string): string {
    if (!target.startsWith("/")) return target;
    if (!target.startsWith(`${this.#root}/`)) throw this.#outside(path);
    return target.slice(this.#root.length);
  }

  /** The same error whether or not the target exists, so that a tenant cannot probe for files of the machine. */
  #outside(path: string): Error {
    return new Error(`"${path}" leads out of its folder`);
  }
}

/** The components of a path in reverse order. */
function namesOf(path: string): string[] {
  return path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .toReversed();
}

class Walk implements Disposable {
  readonly #covers: ReadonlyMap<string, Cover>;
  readonly #places: Place[];

  constructor(root: Cover, covers: ReadonlyMap<string, Cover>) {
    this.#covers = covers;
    this.#places = [placeOf("/", root)];
  }

  get path(): string {
    return this.#here.path;
  }

  get #here(): Place {
    return this.#places.at(-1) as Place;
  }

  /** Enters a name. If it is a link, stays and returns the link's target. */
  enter(name: string, missing: Missing): string | undefined {
    if (name === "..") {
      if (this.#places.length > 1) this.#leave();
      return undefined;
    }
    if (this.#places.length > mostFolders) throw new Error(`"${this.path}" is more than ${mostFolders} folders deep`);
    const { path: above, ...here } = this.#here;
    const path = `${above === "/" ? "" : above}/${name}`;
    const cover = this.#covers.get(path);
    if (cover !== undefined) this.#places.push(placeOf(path, cover));
    else if (here.descriptor === undefined) this.#places.push({ ...here, path });
    else {
      const descriptor = open(here.descriptor, { name, path, missing, readOnly: here.readOnly });
      if (descriptor !== undefined && fstatSync(descriptor).isSymbolicLink()) {
        closeSync(descriptor);
        return readlinkSync(`/proc/self/fd/${here.descriptor}/${name}`);
      }
      this.#places.push({ ...here, path, descriptor });
    }
    return undefined;
  }

  toRoot(): void {
    while (this.#places.length > 1) this.#leave();
  }

  [Symbol.dispose](): void {
    while (this.#places.length > 0) this.#leave();
  }

  #leave(): void {
    const { descriptor } = this.#places.pop() ?? {};
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function placeOf(path: string, cover: Cover): Place {
  return { ...cover, path, descriptor: cover.source === undefined ? undefined : openSync(cover.source, pathOnly) };
}

interface Step {
  readonly name: string;
  readonly path: string;
  readonly missing: Missing;
  readonly readOnly: boolean;
}

function open(folder: number, { name, path, missing, readOnly }: Step): number | undefined {
  const at = `/proc/self/fd/${folder}/${name}`;
  const flags = pathOnly | constants.O_NOFOLLOW;
  try {
    return openSync(at, flags);
  } catch (error) {
    if (hasCode(error, "ENOTDIR")) throw new Error(`"${path}" is below a file`, { cause: error });
    if (!hasCode(error, "ENOENT")) throw error;
  }
  if (missing === "as written") return undefined;
  if (readOnly) throw new Error(`"${path}" does not exist in a read-only volume`);
  if (missing === "make folder") mkdirSync(at, { mode: 0o755 });
  else closeSync(openSync(at, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW, 0o644));
  return openSync(at, flags);
}
