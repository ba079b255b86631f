import { randomBytes } from "node:crypto";
import { hashOf, type Login } from "./login-codes.ts";
import type { SavedSession, SessionFile } from "./session-file.ts";

export interface Session extends Login {
  /** The hash of the cookie. */
  readonly id: string;
  /** What every call must carry besides the cookie. The page reads it once. */
  readonly requestToken: string;
  readonly expiresAt: number;
  /** Aborted when the session ends, so that its streams end too. */
  readonly signal: AbortSignal;
}

interface Open extends Session {
  readonly closing: AbortController;
  readonly timer: NodeJS.Timeout;
}

const lifetimeMs = 8 * 3_600_000;
const maxSessions = 1000;

/** The sessions, oldest first. A session ends after eight hours, with its token, or by logging out. */
export class Sessions implements Disposable {
  readonly #sessions = new Map<string, Open>();
  readonly #file: SessionFile | undefined;
  readonly #now: () => number;

  constructor(file?: SessionFile, now: () => number = Date.now) {
    this.#file = file;
    this.#now = now;
    for (const saved of file?.read() ?? []) if (saved.expiresAt > now()) this.#add(saved);
  }

  /** Returns the value of the cookie. */
  open(login: Login): { readonly cookie: string; readonly maxAgeSeconds: number } {
    const cookie = randomBytes(32).toString("base64url");
    const requestToken = randomBytes(32).toString("base64url");
    const expiresAt = Math.min(this.#now() + lifetimeMs, login.tokenExpiresAt);
    const [oldest] = this.#sessions.values();
    if (this.#sessions.size >= maxSessions && oldest !== undefined) this.#remove(oldest);
    this.#add({ ...login, id: hashOf(cookie), requestToken, expiresAt });
    this.#save();
    return { cookie, maxAgeSeconds: Math.max(0, Math.floor((expiresAt - this.#now()) / 1000)) };
  }

  find(cookie: string | undefined): Session | undefined {
    const found = cookie === undefined ? undefined : this.#sessions.get(hashOf(cookie));
    return found === undefined || found.expiresAt <= this.#now() ? undefined : found;
  }

  end({ id }: Session): void {
    const found = this.#sessions.get(id);
    if (found === undefined) return;
    this.#remove(found);
    this.#save();
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions.values()) this.#remove(session);
  }

  #add(session: SavedSession): void {
    const closing = new AbortController();
    const timer = setTimeout(() => this.end(open), session.expiresAt - this.#now()).unref();
    const open: Open = { ...session, closing, timer, signal: closing.signal };
    this.#sessions.set(session.id, open);
  }

  #remove({ id, timer, closing }: Open): void {
    clearTimeout(timer);
    this.#sessions.delete(id);
    closing.abort();
  }

  #save(): void {
    this.#file?.write(
      [...this.#sessions.values()].map(({ closing: _closing, timer: _timer, signal: _signal, ...saved }) => saved),
    );
  }
}
