import { createHash } from "node:crypto";
import type { Pod } from "@agent-sandbox/api";
import { type Client, isReason, type Logger } from "@agent-sandbox/kube";
import { events } from "../resources.ts";
import type { Problem } from "./status.ts";

/** Problems told lately; a Pod that meets the same one again is not news. */
const remembered = 1000;

export interface WarningsOptions {
  readonly client: Client;
  readonly nodeName: string;
  readonly log: Logger;
  readonly now: () => number;
}

/** Tells people about a Pod's problem, once, with an Event. Failing to do so is no reason to fail the Pod. */
export class Warnings {
  readonly #options: WarningsOptions;
  readonly #told = new Set<string>();

  constructor(options: WarningsOptions) {
    this.#options = options;
  }

  tell(pod: Pod, problem: Problem): void {
    const { uid = "" } = pod.metadata ?? {};
    const id = createHash("sha256").update(`${uid} ${problem.reason} ${problem.message}`).digest("hex").slice(0, 16);
    if (this.#told.has(id)) return;
    this.#told.add(id);
    const [oldest] = this.#told;
    if (this.#told.size > remembered && oldest !== undefined) this.#told.delete(oldest);
    this.#create(pod, problem, id).catch((error: unknown) => {
      // The same problem, told before a restart.
      if (isReason(error, "AlreadyExists")) return;
      this.#options.log.warn({ pod: `${pod.metadata?.namespace}/${pod.metadata?.name}`, error }, "event not written");
    });
  }

  async #create(pod: Pod, problem: Problem, id: string): Promise<void> {
    const { client, nodeName, now } = this.#options;
    const { name = "", namespace = "", uid = "", resourceVersion = "" } = pod.metadata ?? {};
    const time = new Date(now()).toISOString().replace(/\.\d+Z$/, "Z");
    await client.create(events, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${name.slice(0, 200)}.${id}`, namespace },
      involvedObject: { apiVersion: "v1", kind: "Pod", name, namespace, uid, resourceVersion },
      type: "Warning",
      reason: problem.reason,
      message: problem.message.slice(0, 1024),
      source: { component: "agent-sandbox-node", host: nodeName },
      reportingComponent: "agent-sandbox-node",
      reportingInstance: nodeName,
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    });
  }
}
