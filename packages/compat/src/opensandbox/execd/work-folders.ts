import { callRest, RuntimeError, tellRest } from "../../runtime/rest.ts";
import type { Runtime, Target } from "../../runtime/runtime.ts";

/** Where this server keeps what belongs to the protocol in the sandbox itself: variables, and the state of sessions. */
export const stateFolder = "/var/lib/opensandbox";
export const variablesFile: string = `${stateFolder}/envs`;
export const sessionsFolder: string = `${stateFolder}/sessions`;

const maxKept = 1000;

/** Where commands start, and the folder for state. Both are found or made once for each sandbox. */
export class WorkFolders {
  readonly #runtime: Runtime;
  readonly #known = new Map<string, Promise<string>>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** The working directory of the daemon, which is that of the image. */
  of(target: Target): Promise<string> {
    const known = this.#known.get(target.uid);
    if (known !== undefined) return known;
    if (this.#known.size >= maxKept) this.#known.clear();
    const prepared = this.#prepare(target);
    this.#known.set(target.uid, prepared);
    prepared.catch(() => this.#known.delete(target.uid));
    return prepared;
  }

  async #prepare(target: Target): Promise<string> {
    // Commands of every user may add variables. Everybody in the sandbox has the same rights to it.
    for (const path of [stateFolder, sessionsFolder]) {
      await tellRest(this.#runtime, target, "/v1/fs/mkdir", { body: { path, mode: "0777" } }).catch(ignoreRefusal);
    }
    const path = "/v1/stat/proc/1/cwd?follow=false";
    const { target: folder = "/" } = await callRest<{ target?: string }>(this.#runtime, target, {
      method: "GET",
      path,
    });
    return folder.startsWith("/") ? folder : "/";
  }
}

/** An image in which the folder cannot be made has no sessions and no added variables. Commands run in it all the same. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof RuntimeError)) throw error;
}
