import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { Pod, PodSpec, Sandbox } from "@agent-sandbox/api";
import { sandboxes } from "@agent-sandbox/api";
import {
  type Client,
  type ClusterAccess,
  createClient,
  fixedCredential,
  HttpTransport,
  type KubeEvent,
  type KubeObject,
  kubeEvents,
  type Resource,
  type Transport,
} from "@agent-sandbox/kube";
import { execProtocol, runExec } from "../../packages/cli/src/client/exec-channel.ts";
import { openSocket } from "../../packages/cli/src/client/pod-socket.ts";
import { podPath } from "../../packages/cli/src/client/sandbox-pod.ts";
import { type Address, type Answer, ask, type Question } from "../data-plane/ask.ts";
import { isPodReady, until } from "./until.ts";

export const pods: Resource<Pod> = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A tenant's namespace, its token, which has the role `edit` there and no other, and the addresses of the box. */
export interface TenantAccount {
  readonly namespace: string;
  readonly token: string;
  readonly server: string;
  readonly ca: string;
  readonly router: Address;
}

export type Runtime = "gvisor" | "runc";

export interface WantedPod {
  readonly runtime?: Runtime;
  readonly metadata?: Pod["metadata"];
  /** Merged over a Pod with one container `main` of the image `host` that sleeps. */
  readonly spec?: Partial<PodSpec>;
  /** The command of `main`, for a shell. */
  readonly script?: string;
}

/** A user with the role `edit` in one namespace. All methods use this user's own token. */
export class Tenant implements AsyncDisposable {
  readonly namespace: string;
  readonly account: TenantAccount;
  readonly access: ClusterAccess;
  /** Sends requests that a client library would not send. */
  readonly transport: Transport;
  readonly client: Client;

  constructor(account: TenantAccount) {
    this.account = account;
    this.namespace = account.namespace;
    this.access = {
      server: account.server,
      namespace: account.namespace,
      tls: { ca: account.ca },
      credentials: fixedCredential({ authorization: `Bearer ${account.token}` }),
    };
    this.transport = new HttpTransport(this.access);
    this.client = createClient(this.transport, { fieldManager: "security-tests" });
  }

  create<T extends KubeObject>(resource: Resource<T>, name: string, rest: Omit<T, "metadata">): Promise<T> {
    return this.client.create(resource, { metadata: { namespace: this.namespace, name }, ...rest } as unknown as T);
  }

  createPod(name: string, wanted: WantedPod = {}): Promise<Pod> {
    const metadata = { ...wanted.metadata, namespace: this.namespace, name };
    return this.client.create(pods, { metadata, spec: podSpec(wanted) });
  }

  /** Creates a Pod and waits until it is ready. */
  async runPod(name: string, wanted: WantedPod = {}): Promise<Pod> {
    await this.createPod(name, wanted);
    return this.podUntil(name, isPodReady);
  }

  createSandbox(name: string, wanted: WantedPod = {}, rest: Partial<Sandbox["spec"]> = {}): Promise<Sandbox> {
    const podTemplate = { spec: podSpec(wanted), ...(wanted.metadata && { metadata: wanted.metadata }) };
    return this.create(sandboxes, name, {
      apiVersion: sandboxes.apiVersion as Sandbox["apiVersion"],
      kind: "Sandbox",
      spec: { podTemplate, ...rest },
    });
  }

  /** Creates a Sandbox and waits for its Pod, which has the same name. */
  async runSandbox(name: string, wanted: WantedPod = {}, rest: Partial<Sandbox["spec"]> = {}): Promise<Pod> {
    await this.createSandbox(name, wanted, rest);
    return this.podUntil(name, isPodReady);
  }

  pod(name: string): Promise<Pod> {
    return this.client.get(pods, { namespace: this.namespace, name });
  }

  /** Waits until `isTrue` holds for the Pod. Fails after a minute, with the Pod's status and events. */
  podUntil(name: string, isTrue: (pod: Pod) => boolean): Promise<Pod> {
    const look = async (): Promise<Pod | undefined> => {
      const pod = await this.pod(name).catch(() => undefined);
      return pod !== undefined && isTrue(pod) ? pod : undefined;
    };
    return until(look, async () => {
      const status = await this.pod(name).then((pod) => pod.status, String);
      const events = await this.events(name).catch(String);
      return `Pod "${name}": ${JSON.stringify(status)} ${JSON.stringify(events)}`;
    });
  }

  /** Deletes a Pod and waits until it no longer exists. */
  async removePod(name: string, gracePeriodSeconds = 0): Promise<void> {
    await this.client.delete(pods, { namespace: this.namespace, name }, { gracePeriodSeconds });
    await until(() =>
      this.pod(name).then(
        () => undefined,
        () => true,
      ),
    );
  }

  /** Runs a shell script in a container of a Pod. */
  exec(pod: string, script: string, container?: string): Promise<Ran> {
    return execIn(this.access, this.namespace, pod, ["sh", "-c", script], container);
  }

  /** Runs a script and returns its output without the last newline, whatever its exit code. */
  async shell(pod: string, script: string, container?: string): Promise<string> {
    return (await this.exec(pod, script, container)).stdout.trimEnd();
  }

  /** The events of an object as `Reason: text`, in no particular order. */
  async events(name: string): Promise<string[]> {
    const { items } = await this.client.list(kubeEvents, { namespace: this.namespace });
    return items.filter(({ regarding }) => regarding?.name === name).map(describeEvent);
  }

  /** A request through the router to a port of a Sandbox, by default one of this tenant's own. */
  ask(
    sandbox: string,
    port: number,
    target: string,
    question: Question & { namespace?: string } = {},
  ): Promise<Answer> {
    const { namespace = this.namespace, headers, ...rest } = question;
    const own = {
      "X-Sandbox-ID": sandbox,
      "X-Sandbox-Namespace": namespace,
      "X-Sandbox-Port": String(port),
      Authorization: `Bearer ${this.account.token}`,
    };
    return ask(this.account.router, target, { ...rest, headers: { ...own, ...headers } });
  }

  /** Sends a request to the API server and returns the status and body. It does not throw on an error status. */
  async request(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const { status, body: answer } = await this.transport.send({
      method,
      path,
      headers,
      ...(body !== undefined && { body }),
    });
    return { status, body: answer };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

const describeEvent = ({ reason, note }: KubeEvent): string => `${reason}: ${note}`;

function podSpec({ runtime, script, spec }: WantedPod): PodSpec {
  const main = { name: "main", image: "host", command: ["sh", "-c", script ?? "exec sleep infinity"] };
  return {
    terminationGracePeriodSeconds: 1,
    ...(runtime && { runtimeClassName: runtime }),
    containers: [main],
    ...spec,
  };
}

/** Runs a command in a container with the permissions of `access`. */
export async function execIn(
  access: ClusterAccess,
  namespace: string,
  pod: string,
  command: readonly string[],
  container?: string,
): Promise<Ran> {
  const query = new URLSearchParams({ stdout: "true", stderr: "true", stdin: "false", tty: "false" });
  if (container !== undefined) query.set("container", container);
  for (const word of command) query.append("command", word);
  const socket = await openSocket(access, `${podPath(namespace, pod, "exec")}?${query.toString()}`, execProtocol);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const ran = runExec(socket, { stdin: undefined, stdout, stderr }).finally(() => {
    stdout.end();
    stderr.end();
  });
  const [said, complained, code] = await Promise.all([text(stdout), text(stderr), ran]);
  return { code, stdout: said, stderr: complained };
}
