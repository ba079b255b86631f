import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, Pod, PodSpec } from "@agent-sandbox/api";
import {
  type Client,
  type ClusterAccess,
  createClient,
  HttpTransport,
  isReason,
  loadDefault,
} from "@agent-sandbox/kube";
import { execProtocol, runExec } from "../../packages/cli/src/client/exec-channel.ts";
import { openSocket } from "../../packages/cli/src/client/pod-socket.ts";
import { pods } from "../../packages/node/src/resources.ts";

export const namespace = "default";

/** Counts what succeeded while the box was killed. A test in which nothing succeeds proves nothing. */
export interface Tally {
  created: number;
  ran: number;
  executed: number;
  deleted: number;
  refused: number;
}

/** Creates, enters and deletes Pods repeatedly while the box is killed. */
export class Storm implements AsyncDisposable {
  readonly tally: Tally = { created: 0, ran: 0, executed: 0, deleted: 0, refused: 0 };
  readonly client: Client;
  readonly #access: ClusterAccess;
  readonly #lives: Promise<void>[] = [];
  #stopped = false;

  private constructor(access: ClusterAccess) {
    this.#access = access;
    this.client = createClient(new HttpTransport(access));
  }

  static async open(kubeconfig: string): Promise<Storm> {
    const { access, error } = await loadDefault({ path: kubeconfig });
    if (error !== undefined) throw new Error(error);
    return new Storm(access);
  }

  begin(count: number): void {
    for (let index = 0; index < count; index++)
      this.#lives.push(this.#live(`pod-${index}`, kinds[index % kinds.length] as Kind));
  }

  /** Creates, enters and deletes one Pod. */
  async runOne(): Promise<void> {
    const until = this.tally.deleted + 1;
    while (this.tally.deleted < until) await this.#step("pod-first", "plain");
  }

  /** Stops all workers. */
  async end(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#lives);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await this.client.close();
  }

  async #live(name: string, kind: Kind): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#step(name, kind);
      } catch {
        this.tally.refused += 1;
        await sleep(50);
      }
    }
  }

  /** Performs the next step for a Pod, depending on its state. */
  async #step(name: string, kind: Kind): Promise<void> {
    const pod = await this.#read(name);
    if (pod === undefined) {
      await this.client.create(pods, { metadata: { namespace, name }, spec: specOf(kind) });
      this.tally.created += 1;
    } else if (pod.metadata?.deletionTimestamp !== undefined || pod.status?.phase !== "Running") await sleep(50);
    else {
      this.tally.ran += 1;
      await this.exec(name);
      await this.client.delete(pods, { namespace, name }, { gracePeriodSeconds: 1 });
      this.tally.deleted += 1;
    }
  }

  async #read(name: string): Promise<Pod | undefined> {
    try {
      return await this.client.get(pods, { namespace, name });
    } catch (error) {
      if (isReason(error, "NotFound")) return undefined;
      throw error;
    }
  }

  /** Tries to run a command in a Pod. */
  async exec(name: string): Promise<void> {
    const query = "container=main&stdout=true&stderr=true&command=sh&command=-c&command=sleep%200.2%3B%20hostname";
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/exec?${query}`;
    const socket = await openSocket(this.#access, path, execProtocol);
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    if ((await runExec(socket, { stdin: undefined, stdout: nowhere, stderr: nowhere })) === 0) this.tally.executed += 1;
  }
}

type Kind = "plain" | "several" | "gvisor";

/** One in five uses gVisor, which starts more slowly: most Pods must make progress between two kills. */
const kinds: readonly Kind[] = ["plain", "several", "plain", "gvisor", "plain"];

const idle = (name: string, more: Partial<Container> = {}): Container => ({
  name,
  image: "host",
  command: ["sleep", "infinity"],
  ...more,
});

function specOf(kind: Kind): PodSpec {
  if (kind !== "several")
    return { runtimeClassName: kind === "gvisor" ? "gvisor" : "runc", containers: [idle("main")] };
  return {
    runtimeClassName: "runc",
    volumes: [{ name: "memory", emptyDir: { medium: "Memory" } }],
    initContainers: [{ name: "first", image: "host", command: ["true"] }],
    containers: [
      idle("main", { volumeMounts: [{ name: "memory", mountPath: "/memory", subPath: "deep" }] }),
      idle("other"),
    ],
  };
}

export const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
