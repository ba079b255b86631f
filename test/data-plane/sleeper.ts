import { setTimeout as sleep } from "node:timers/promises";
import { isConditionTrue, type Pod, type Sandbox, sandboxes } from "@agent-sandbox/api";
import type { Resource } from "@agent-sandbox/kube";
import { type Address, type Answer, ask } from "./ask.ts";
import type { DataPlaneBox } from "./data-plane-box.ts";
import { type Counted, countsOf, ports, Subject } from "./subject.ts";

const pods: Resource<Pod> = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };

/** Traffic may wake it, also if a user has suspended it. */
export const wakeable = { resumePolicy: "OnTraffic" } as const;

/** A sandbox that can be suspended, and the requests it has counted. */
export class Sleeper {
  readonly #box: DataPlaneBox;
  readonly name: string;

  constructor(box: DataPlaneBox, name: string) {
    this.#box = box;
    this.name = name;
  }

  async object(): Promise<Sandbox> {
    return (await this.#box.client()).get(sandboxes, { namespace: "default", name: this.name });
  }

  async patch(body: object): Promise<void> {
    const client = await this.#box.client();
    await client.patch(sandboxes, { namespace: "default", name: this.name }, { type: "merge", body });
  }

  /** Suspended, and its Pod is deleted. */
  async putToSleep(): Promise<void> {
    await this.patch({ spec: { operatingMode: "Suspended" } });
    await this.asleep();
  }

  async asleep(): Promise<void> {
    const client = await this.#box.client();
    for (;;) {
      const { metadata, status } = await this.object();
      const { items } = await client.list(pods, { namespace: "default" });
      const isOwn = ({ metadata: pod }: Pod): boolean =>
        pod?.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true;
      if (isConditionTrue(status?.conditions, "Suspended") && !items.some(isOwn)) return;
      await sleep(50);
    }
  }

  through(router: Address): Subject {
    return new Subject(router, this.name, this.#box.token);
  }

  /** The number of Pods it has had, and the requests that reached any of them. */
  async counted(): Promise<Counted> {
    return await countsOf(this.through(this.#box.router));
  }

  /** How often the box's router has woken it. */
  wakes(): number {
    const wanted = `"sandbox":"default/${this.name}"`;
    const lines = this.#box.log().split("\n");
    return lines.filter((line) => line.includes("sandbox woken by traffic") && line.includes(wanted)).length;
  }
}

/** Sends requests with different ids. Returns the responses in the order of the ids. */
export function askTogether(at: Subject, ids: readonly string[]): Promise<Answer[]> {
  return Promise.all(ids.map((body) => at.ask(ports.workload, "/count", { method: "POST", body })));
}

export function idsOf(label: string, count = 200): string[] {
  return Array.from({ length: count }, (_, index) => `${label}-${index}`);
}

/**
 * Runs a command with a request id, and retries with the same id if the connection is lost or the router reports that the
 * sandbox is not ready.
 */
export async function runCarefully(at: Subject, id: string, command: string): Promise<Answer> {
  const body = JSON.stringify({ command });
  const headers = { ...at.headers(ports.legacy), "x-request-id": id };
  for (;;) {
    const answer = await ask(at.router, "/execute", { method: "POST", body, headers }).catch(() => undefined);
    if (answer !== undefined && answer.status === 200) return answer;
    if (answer !== undefined && ![502, 503].includes(answer.status)) return answer;
    await sleep(200);
  }
}
