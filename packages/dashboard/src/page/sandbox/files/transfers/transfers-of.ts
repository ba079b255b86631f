/** The transfers of a sandbox. They outlive the view, so that a large upload continues while somebody reads the log. */
import type { Backend } from "../../../data/backend.ts";
import { Transfers } from "./transfers.ts";

const known = new WeakMap<Backend, Map<string, Transfers>>();

export function transfersOf(backend: Backend, sandboxUid: string): Transfers {
  const ofBackend = known.get(backend) ?? new Map<string, Transfers>();
  known.set(backend, ofBackend);
  for (const [uid, { snapshot }] of ofBackend) {
    if (uid !== sandboxUid && snapshot().length === 0) ofBackend.delete(uid);
  }
  const found = ofBackend.get(sandboxUid) ?? new Transfers({ onActive });
  ofBackend.set(sandboxUid, found);
  return found;
}

let active = 0;

/** Closing the window ends them, so the browser asks first. */
function onActive(isActive: boolean): void {
  active += isActive ? 1 : -1;
  if (active > 0) addEventListener("beforeunload", askFirst);
  else removeEventListener("beforeunload", askFirst);
}

const askFirst = (event: BeforeUnloadEvent): void => event.preventDefault();
