import { type Sandbox, sleepReason, trackedPodName, wakeBy } from "@agent-sandbox/api";
import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";
import { findSandbox, flagOf } from "./find-sandbox.ts";

export interface PodOptions {
  /** Whether the command wakes a Sandbox that is asleep. Default: false. */
  readonly wakes?: boolean;
}

export interface SandboxPod {
  readonly name: string;
  /** The name of the Sandbox. Default: that of the Pod. */
  readonly sandbox?: string | undefined;
  /** While the Sandbox is asleep the Pod does not exist. */
  readonly isAsleep: boolean;
}

/** The Pod of a Sandbox, which is found as by `findSandbox`. Refused when the Sandbox is asleep and the command does not wake it. */
export async function podOf(connection: Connection, name: string, options: PodOptions = {}): Promise<SandboxPod> {
  const found = await findSandbox(connection, name);
  const asleep = whyAsleep(found);
  const isWoken = options.wakes === true && wakeBy(found) !== undefined;
  if (asleep !== undefined && !isWoken) throw new CommandError(`sandbox "${name}" is suspended: ${asleep}`);
  return { name: trackedPodName(found), sandbox: found.metadata.name, isAsleep: asleep !== undefined };
}

/**
 * Explains why a session with the Pod of a Sandbox failed. The API server of the box wakes a Sandbox that is asleep; that of a
 * cluster does not find its Pod.
 */
export function sessionError(error: unknown, { name, isAsleep }: SandboxPod): unknown {
  if (!isAsleep || !(error instanceof CommandError) || !error.message.includes("not found")) return error;
  const hint = "its sandbox is asleep, and in a cluster only a request through the router wakes it";
  return new CommandError(`pod "${name}" not found: ${hint}`, { cause: error });
}

/** Why a Sandbox is asleep and what brings it back; undefined: it is awake. */
export function whyAsleep(sandbox: Sandbox): string | undefined {
  const reason = sleepReason(sandbox);
  if (reason === undefined) return undefined;
  const { name = "", namespace = "default" } = sandbox.metadata;
  const resume = `agent-sandbox resume ${name}${flagOf(namespace)}`;
  if (reason === "spec") return `resume it with: ${resume}`;
  return wakeBy(sandbox) === undefined
    ? `it was idle and its resumePolicy is Manual; resume it with: ${resume}`
    : "it was idle, and wakes up when it gets a request through the router";
}

/** The path of a part of a Pod on any API server; of the Pod itself without one. */
export function podPath(namespace: string, pod: string, part?: string): string {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`;
  return part === undefined ? path : `${path}/${part}`;
}
