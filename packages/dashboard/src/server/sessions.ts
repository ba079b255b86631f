import { randomBytes } from "node:crypto";
import { tooMany } from "./http-failure.ts";
import { hashOf, type Login } from "./login-codes.ts";
import type { SavedSession, SessionFile } from "./session-file.ts";
import { UserShare } from "./user-share.ts";

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
  readonly slot: Disposable;
}

const lifetimeMs = 8 * 3_600_000;

/** The sessions, oldest first. A session ends after eight hours, with its token, by logging out, or for a newer one of its user. */
export class Sessions implements Disposable {
  readonly #sessions = new Map<string, Open>();
  readonly #file: SessionFile | undefined;
  readonly #now: () => number;
  readonly #share = new UserShare({ total: 1000, perUser: 32 });

  constructor(file?: SessionFile, now: () => number = Date.now) {
    this.#file = file;
    this.#now = now;
    for (const saved of file?.read() ?? []) {
      const slot = saved.expiresAt > now() ? this.#slotOf(saved.user) : undefined;
      if (slot !== undefined) this.#add(saved, slot);
    }
  }

  /** Returns the value of the cookie. If the share is used up, ends the user's oldest session, or throws if the user has none. */
  open(login: Login): { readonly cookie: string; readonly maxAgeSeconds: number } {
    const cookie = randomBytes(32).toString("base64url");
    const requestToken = randomBytes(32).toString("base64url");
    const expiresAt = Math.min(this.#now() + lifetimeMs, login.tokenExpiresAt);
    const slot = this.#slotOf(login.user);
    if (slot === undefined) throw tooMany("Other users have too many sessions: try again later");
    this.#add({ ...login, id: hashOf(cookie), requestToken, expiresAt }, slot);
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
    this.#remove(found)[Symbol.dispose]();
    this.#save();
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions.values()) this.#remove(session)[Symbol.dispose]();
  }

  /** A free slot, or that of the user's oldest session, which ends. */
  #slotOf(user: string): Disposable | undefined {
    const free = this.#share.hold(user);
    if (free !== undefined) return free;
    const oldest = this.#sessions.values().find((session) => session.user === user);
    return oldest === undefined ? undefined : this.#remove(oldest);
  }

  #add(session: SavedSession, slot: Disposable): void {
    const closing = new AbortController();
    const timer = setTimeout(() => this.end(open), Math.max(0, session.expiresAt - this.#now())).unref();
    const open: Open = { ...session, closing, timer, slot, signal: closing.signal };
    this.#sessions.set(session.id, open);
  }

  /** Returns its slot, which the caller gives to another session or disposes. */
  #remove({ id, timer, closing, slot }: Open): Disposable {
    clearTimeout(timer);
    this.#sessions.delete(id);
    closing.abort();
    return slot;
  }

  #save(): void {
    this.#file?.write([...this.#sessions.values()].map(savedOf));
  }
}

function savedOf({ id, requestToken, token, user, namespace, tokenExpiresAt, expiresAt }: Session): SavedSession {
  return { id, requestToken, token, user, namespace, tokenExpiresAt, expiresAt };
}
