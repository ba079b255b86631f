import { setTimeout as sleep } from "node:timers/promises";
import { findCondition, killedForMemory, type Pod, type Sandbox, sandboxes, sleepReason } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import type { WebSocket } from "ws";
import type { Connection } from "./connect.ts";
import { fetchJson, RefusedError } from "./discovery.ts";
import { isOutput } from "./exec-channel.ts";
import { podPath, type SandboxPod } from "./sandbox-pod.ts";

/** The exit code of a command that ended with its sandbox: 128 + SIGKILL. */
export const endedCode = 137;
/** Exit codes of processes that were killed from outside: with SIGKILL or SIGTERM. */
const killedCodes: readonly number[] = [endedCode, 143];

/** Shorter commands do not pay for the look at the Pod that a later comparison needs. */
const longCommandMs = 1000;
/** The node reports the end of a container a moment after its processes have ended. */
const reportDelayMs = 500;

/** Longer than the node's explanation. */
const mostExplanation = 200;

/** What is compared to find out whether a Pod is the same as at the beginning of a session. */
interface PodMark {
  readonly uid: string;
  readonly restarts: number;
}

/** What is known about a sandbox after a session has ended. A missing object does not exist any more. */
export interface AfterSession {
  readonly sandbox: Sandbox | undefined;
  readonly pod: Pod | undefined;
  readonly before: PodMark | undefined;
}

/** A session with the Pod of a sandbox. When it has ended, says whether the sandbox ended it. */
export class Session implements Disposable {
  readonly #connection: Connection;
  readonly #pod: SandboxPod;
  readonly #timer: NodeJS.Timeout;
  #before: PodMark | undefined;
  #lastOutput = "";

  constructor(connection: Connection, pod: SandboxPod) {
    this.#connection = connection;
    this.#pod = pod;
    this.#timer = setTimeout(() => void this.#remember(), longCommandMs).unref();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  /** Reads the end of the output, in which the node may explain the end of the command. */
  follow(socket: WebSocket): void {
    socket.on("message", (data: Buffer) => {
      if (isOutput(data)) this.#lastOutput = data.subarray(-mostExplanation).toString("utf8").trimEnd();
    });
  }

  /**
   * Why a command ended that the exit code shows as killed. Undefined if the sandbox has nothing to do with it, or the output says it
   * already.
   */
  async whyKilled(exitCode: number): Promise<string | undefined> {
    if (!killedCodes.includes(exitCode) || this.#lastOutput.endsWith(killedForMemory)) return undefined;
    const first = await this.why(" while the command ran");
    if (first !== undefined) return first;
    await sleep(reportDelayMs);
    return this.why(" while the command ran");
  }

  /** Why a session ended, in one sentence. Undefined if the sandbox runs as before, or cannot be read. */
  async why(during: string): Promise<string | undefined> {
    const { name, sandbox = name } = this.#pod;
    try {
      const [own, pod] = await Promise.all([this.#readSandbox(sandbox), this.#readPod()]);
      return whyEnded({ sandbox: own, pod, before: this.#before }, sandbox, during);
    } catch {
      return undefined;
    }
  }

  async #remember(): Promise<void> {
    const pod = await this.#readPod().catch(() => undefined);
    if (pod !== undefined) this.#before = { uid: pod.metadata?.uid ?? "", restarts: restartsOf(pod) };
  }

  async #readSandbox(name: string): Promise<Sandbox | undefined> {
    const { client, namespace } = this.#connection;
    return client.get(sandboxes, { name, namespace }).catch((error: unknown) => {
      if (isReason(error, "NotFound")) return undefined;
      throw error;
    });
  }

  async #readPod(): Promise<Pod | undefined> {
    const { transport, namespace } = this.#connection;
    try {
      return (await fetchJson(transport, podPath(namespace, this.#pod.name))) as Pod;
    } catch (error) {
      if (error instanceof RefusedError && error.status === 404) return undefined;
      throw error;
    }
  }
}

/** Which change of the sandbox ended a session with it. `during` is a part of the sentence, such as " while the command ran". */
export function whyEnded({ sandbox, pod, before }: AfterSession, name: string, during: string): string | undefined {
  if (sandbox === undefined || sandbox.metadata.deletionTimestamp !== undefined)
    return `The sandbox was deleted${during}.`;
  if (findCondition(sandbox.status?.conditions, "Ready")?.reason === "SandboxExpired")
    return `The sandbox reached its shutdownTime${during}.`;
  const asleep = sleepReason(sandbox);
  if (asleep !== undefined) {
    const how = asleep === "idle" ? "was idle and was suspended" : "was suspended";
    return `The sandbox ${how}${during}; resume it with "agent-sandbox resume ${name}".`;
  }
  if (pod === undefined || pod.metadata?.deletionTimestamp !== undefined || isOther(pod, before))
    return `The sandbox was restarted${during}: its Pod was replaced.`;
  const container = pod.status?.containerStatuses?.find(
    ({ state, restartCount }) =>
      state?.terminated !== undefined || (before !== undefined && restartCount > before.restarts),
  );
  if (container === undefined) return undefined;
  const { state, lastState } = container;
  return (state?.terminated ?? lastState?.terminated)?.reason === "OOMKilled"
    ? `The sandbox ran out of memory${during}, and its container was ended.`
    : `The container of the sandbox ended${during}.`;
}

const isOther = (pod: Pod, before: PodMark | undefined): boolean =>
  before !== undefined && pod.metadata?.uid !== before.uid;

/** The restarts of the container that was restarted most. */
const restartsOf = (pod: Pod): number =>
  Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
