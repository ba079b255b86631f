import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { runCommand, tryCommand } from "../system/run-command.ts";
import type { Checkpoints, RuntimeBuild, RuntimeCommand } from "./oci-runtime.ts";
import { callRuntime, isGone } from "./runtime-call.ts";

/** A gigabyte takes about a second to write, and the disk may be busy. */
const saveTimeoutMs = 10 * 60_000;

/**
 * A checkpoint with `--leave-running` of a paused sandbox leaves it paused, so nothing in it can change after it was saved. A
 * sandbox that was paused when it was saved runs when it is restored. gVisor compares the specifications of the containers
 * before it restores them: arguments, mounts without their sources, users, capabilities, seccomp, kinds of namespaces. It
 * takes hostname and environment from the new specification, and kills processes that `runsc exec` had started.
 */
export function checkpointCalls(command: RuntimeCommand): Pick<Checkpoints, "pause" | "isPaused" | "resume" | "save"> {
  return {
    pause: (id) => callRuntime(command, ["pause", id], /in state paused/),
    isPaused: async (id) => {
      const { stdout } = await tryCommand(command.program, [...command.args, "state", id]);
      return /"status": *"paused"/.test(stdout);
    },
    resume: (id) => callRuntime(command, ["resume", id], new RegExp(`in state running|${isGone.source}`, "i")),
    save: (id, folder) => {
      const options = ["--leave-running", "--exclude-committed-zero-pages", "--image-path", folder];
      return callRuntime(command, ["checkpoint", ...options, id], /(?!)/, { timeoutMs: saveTimeoutMs });
    },
  };
}

/** Reads the program once: it has the size of a small image. */
export async function buildOf(program: string): Promise<RuntimeBuild> {
  const hash = createHash("sha256");
  const [version] = await Promise.all([runCommand(program, ["--version"]), pipeline(createReadStream(program), hash)]);
  return { version: version.split("\n")[0]?.replace(/^runsc version /, "") ?? "", sha256: hash.digest("hex") };
}
