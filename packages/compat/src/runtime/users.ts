import { readBody } from "../http/read-body.ts";
import { RuntimeError, sendRest } from "./rest.ts";
import type { Runtime, Target } from "./runtime.ts";

export interface UserEntry {
  readonly name: string;
  readonly uid: number;
  readonly home: string;
}

/** The names of the owners of files. An owner without a name is shown by its number. */
export interface OwnerNames {
  user(uid: number): string;
  group(gid: number): string;
}

const maxFileBytes = 1024 * 1024;
const maxKept = 256;
/** A sandbox writes these files itself, and what is read of them is kept. */
const maxEntries = 1000;
const maxFieldLength = 256;

/** The users in the images of sandboxes, from `/etc/passwd`. */
export class Users {
  readonly #runtime: Runtime;
  readonly #known = new Map<string, readonly UserEntry[]>();
  readonly #groups = new Map<string, readonly UserEntry[]>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Also shows that the daemon of the sandbox answers. Looks again for a user that was not there before. */
  async of(target: Target, wanted?: string, signal?: AbortSignal): Promise<readonly UserEntry[]> {
    const known = this.#known.get(target.uid);
    if (known !== undefined && (wanted === undefined || known.some(({ name }) => name === wanted))) return known;
    const read = await this.#read(target, "/etc/passwd", signal);
    if (this.#known.size >= maxKept) this.#known.clear();
    this.#known.set(target.uid, read);
    return read;
  }

  async names(target: Target, signal?: AbortSignal): Promise<OwnerNames> {
    const [users, groups] = await Promise.all([this.of(target, undefined, signal), this.#groupsOf(target, signal)]);
    const nameIn = (list: readonly UserEntry[], id: number): string =>
      list.find(({ uid }) => uid === id)?.name ?? String(id);
    return { user: (uid) => nameIn(users, uid), group: (gid) => nameIn(groups, gid) };
  }

  async #groupsOf(target: Target, signal: AbortSignal | undefined): Promise<readonly UserEntry[]> {
    const known = this.#groups.get(target.uid);
    if (known !== undefined) return known;
    const read = await this.#read(target, "/etc/group", signal);
    if (this.#groups.size >= maxKept) this.#groups.clear();
    this.#groups.set(target.uid, read);
    return read;
  }

  async #read(target: Target, file: string, signal: AbortSignal | undefined): Promise<readonly UserEntry[]> {
    try {
      const path = `/v1/files${file}`;
      const answer = await sendRest(this.#runtime, target, { method: "GET", path, ...(signal && { signal }) });
      return parsePasswd((await readBody(answer, maxFileBytes)).toString("utf8")).slice(0, maxEntries);
    } catch (error) {
      // An image without users, or a daemon whose root is not `/`.
      if (error instanceof RuntimeError) return [];
      throw error;
    }
  }
}

/**
 * Lines of `/etc/passwd` or `/etc/group`: name, password, number, and in the first of them the home as sixth field. A home that is not
 * an absolute path would be looked for in the working directory of this process.
 */
export function parsePasswd(text: string): UserEntry[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", , uid = "", , , home = ""] = line.split(":");
    const isEntry = name !== "" && name.length <= maxFieldLength && /^\d{1,10}$/.test(uid);
    const isHome = home.startsWith("/") && home.length <= maxFieldLength;
    // Copied, because a part of a text keeps the whole text.
    return isEntry ? [{ name: copyOf(name), uid: Number(uid), home: isHome ? copyOf(home) : "/" }] : [];
  });
}

const copyOf = (text: string): string => Buffer.from(text).toString("utf8");
