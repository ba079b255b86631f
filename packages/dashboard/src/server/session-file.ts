import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import type { Login } from "./login-codes.ts";

export interface SavedSession extends Login {
  readonly id: string;
  readonly requestToken: string;
  readonly expiresAt: number;
}

/** Keeps sessions over a restart, in a file that only its owner can read: it contains the users' tokens. */
export class SessionFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** A file that is missing or damaged has no sessions: users log in again. */
  read(): readonly SavedSession[] {
    try {
      const found: unknown = JSON.parse(readFileSync(this.#path, "utf8"));
      return Array.isArray(found) ? found.filter(isSaved).map(restore) : [];
    } catch {
      return [];
    }
  }

  write(sessions: readonly SavedSession[]): void {
    const temporary = `${this.#path}.new`;
    rmSync(temporary, { force: true });
    const file = openSync(temporary, "wx", 0o600);
    try {
      writeSync(file, JSON.stringify(sessions));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, this.#path);
  }
}

function isSaved(value: unknown): value is SavedSession {
  const { id, requestToken, token, user, namespace, expiresAt } = (value ?? {}) as Record<string, unknown>;
  const texts = [id, requestToken, token, user, namespace];
  return texts.every((text) => typeof text === "string") && typeof expiresAt === "number";
}

/** JSON has no infinity. */
function restore(saved: SavedSession): SavedSession {
  const { tokenExpiresAt } = saved as { readonly tokenExpiresAt: number | null };
  return { ...saved, tokenExpiresAt: tokenExpiresAt ?? Number.POSITIVE_INFINITY };
}
