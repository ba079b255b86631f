/** The terminals of a sandbox. They are kept when the view is left, so that it shows them again. */
import type { Backend } from "../../data/backend.ts";
import { type Connect, TerminalSession } from "./terminal-session.ts";

/** Each has a shell in the sandbox. */
export const mostTerminals = 8;
/** Of the sandboxes that were visited last: screens are large. */
const mostSets = 4;

export interface ShownTerminals {
  readonly sessions: readonly TerminalSession[];
  readonly current: TerminalSession | undefined;
  readonly isReader: boolean;
}

export class TerminalSet {
  readonly #connect: Connect;
  readonly #listeners = new Set<() => void>();
  #shown: ShownTerminals = { sessions: [], current: undefined, isReader: false };
  #lastNumber = 0;

  constructor(connect: Connect) {
    this.#connect = connect;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): ShownTerminals => this.#shown;

  /** Connects all terminals. The first visit opens one. */
  enter(): void {
    if (this.#lastNumber === 0) this.open();
    else for (const session of this.#shown.sessions) session.enter();
  }

  leave(): void {
    for (const session of this.#shown.sessions) session.leave();
  }

  open(): void {
    const { sessions } = this.#shown;
    if (sessions.length >= mostTerminals) return;
    this.#lastNumber += 1;
    const session = new TerminalSession(this.#lastNumber, this.#connect, () => this.#publish({}));
    this.#publish({ sessions: [...sessions, session], current: session });
  }

  choose(current: TerminalSession): void {
    this.#publish({ current });
  }

  close(session: TerminalSession): void {
    session.close();
    const at = this.#shown.sessions.indexOf(session);
    const sessions = this.#shown.sessions.filter((other) => other !== session);
    this.#publish({ sessions, current: sessions[Math.min(at, sessions.length - 1)] });
  }

  setReader(isReader: boolean): void {
    this.#publish({ isReader });
  }

  closeAll(): void {
    for (const session of this.#shown.sessions) session.close();
  }

  #publish(change: Partial<ShownTerminals>): void {
    this.#shown = { ...this.#shown, ...change };
    for (const listener of this.#listeners) listener();
  }
}

const kept = new WeakMap<Backend, Map<string, TerminalSet>>();

/** The terminals of a sandbox, by its UID. */
export function terminalsOf(backend: Backend, uid: string, connect: Connect): TerminalSet {
  const sets = kept.get(backend) ?? new Map<string, TerminalSet>();
  kept.set(backend, sets);
  const found = sets.get(uid) ?? new TerminalSet(connect);
  // The last one is the one that was used last.
  sets.delete(uid);
  sets.set(uid, found);
  const [oldest] = sets;
  if (sets.size > mostSets && oldest !== undefined) {
    sets.delete(oldest[0]);
    oldest[1].closeAll();
  }
  return found;
}
