/** Measures how long sandboxes take to wake up, from what the watch shows: asleep, no longer asleep, running. Pure. */
import type { SandboxState } from "./sandbox-state.ts";

interface Seen {
  readonly state: SandboxState;
  /** When it left its sleep; undefined: it does not wake up. */
  readonly wakingSince?: number | undefined;
}

export interface WokenSandbox {
  readonly key: string;
  readonly at: number;
  readonly tookMs: number;
}

export class WakeMeter {
  readonly #seen = new Map<string, Seen>();

  /** Returns the sandboxes that became ready after their sleep. */
  observe(states: ReadonlyMap<string, SandboxState>, now: number): WokenSandbox[] {
    const woken: WokenSandbox[] = [];
    for (const key of this.#seen.keys()) if (!states.has(key)) this.#seen.delete(key);
    for (const [key, state] of states) {
      const before = this.#seen.get(key);
      if (before?.state === state) continue;
      const since = before?.state === "sleeping" ? now : before?.wakingSince;
      if (state === "running" && since !== undefined) {
        // A wake within one frame took at least a moment.
        woken.push({ key, at: now, tookMs: Math.max(1, now - since) });
      }
      const isWaking = state === "starting" && since !== undefined;
      this.#seen.set(key, { state, wakingSince: isWaking ? since : undefined });
    }
    return woken;
  }
}
