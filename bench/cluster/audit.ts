import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";

interface Entry {
  readonly verb: string;
  readonly user?: { readonly username?: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
  readonly requestURI?: string;
  readonly responseStatus?: { readonly code?: number };
}

/** Requests of one user that changed something. */
export interface Written {
  readonly writes: number;
  readonly events: number;
  /** Refused by a conflict, a limit or an error of the server. */
  readonly refused: number;
}

const writing = new Set(["create", "update", "patch", "delete", "deletecollection"]);

/** Reads the audit log of an API server from its present end. */
export class AuditLog {
  readonly #path: string;
  readonly #user: string;
  #offset: number;

  constructor(path: string, user: string) {
    this.#path = path;
    this.#user = user;
    this.#offset = statSync(path).size;
  }

  /** What the user wrote since the last call. Renewals of leases and dry runs do not count. */
  take(): Written {
    const entries = this.#lines().filter((entry) => entry.user?.username === this.#user && writing.has(entry.verb));
    const counted = entries.filter(
      ({ objectRef, requestURI = "" }) => objectRef?.resource !== "leases" && !requestURI.includes("dryRun="),
    );
    const isDone = ({ responseStatus }: Entry): boolean => (responseStatus?.code ?? 0) < 400;
    const done = counted.filter(isDone);
    const events = done.filter(({ objectRef }) => objectRef?.resource === "events").length;
    return { writes: done.length - events, events, refused: counted.length - done.length };
  }

  #lines(): Entry[] {
    const file = openSync(this.#path, "r");
    try {
      const content = Buffer.alloc(fstatSync(file).size - this.#offset);
      readSync(file, content, 0, content.length, this.#offset);
      // The last line may be incomplete.
      const end = content.lastIndexOf("\n") + 1;
      this.#offset += end;
      return content
        .subarray(0, end)
        .toString("utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Entry);
    } finally {
      closeSync(file);
    }
  }
}
