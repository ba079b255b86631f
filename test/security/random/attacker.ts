import type { Random } from "../../../packages/apiserver/test/fuzz/random.ts";
import { openSocket } from "../../../packages/cli/src/client/pod-socket.ts";
import type { Tenant } from "../tenant.ts";
import type { World } from "../world.ts";
import { ownNames, weights } from "./base-objects.ts";
import { type Fields, hostileObject } from "./hostile-object.ts";
import { hostileNumber, hostileText, type Prey, preyOf } from "./hostile-values.ts";
import { insideScripts } from "./inside-scripts.ts";
import { pathOf, type ServedKind } from "./served-kinds.ts";

/** The result of an action: the status from the API server or router (0: no response), and everything the attacker received. */
export interface Outcome {
  readonly status: number;
  readonly text: string;
}

export interface Action {
  /** For the report of a violation. */
  readonly what: string;
  /** Concerns objects of others, so it must not succeed. */
  readonly isForbidden?: boolean;
  /** The response may come from the attacker's own program, or there may be none. */
  readonly isStream?: boolean;
  run(): Promise<Outcome>;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
const patienceMs = 30_000;
const streamPatienceMs = 3000;
const patchTypes = ["merge-patch", "strategic-merge-patch", "json-patch", "apply-patch"] as const;
const reviews = /^selfsubject/;
const streams = ["exec", "attach", "portforward", "log", "proxy"];

/** Chooses the next action. The choices depend only on the seed. */
export class Attacker {
  readonly #random: Random;
  readonly #tenant: Tenant;
  readonly #world: World;
  readonly #kinds: readonly ServedKind[];
  readonly #prey: Prey;
  readonly #scripts: readonly string[];

  /** Names of the attacker's Pods, for actions that need a running Pod. */
  readonly pods: { names: readonly string[] };

  constructor(random: Random, world: World, tenant: Tenant, kinds: readonly ServedKind[], pods: { names: string[] }) {
    this.pods = pods;
    this.#random = random;
    this.#tenant = tenant;
    this.#world = world;
    this.#kinds = kinds.flatMap((kind) => Array.from({ length: weights[kind.plural] ?? 1 }, () => kind));
    this.#prey = preyOf(world);
    this.#scripts = insideScripts(this.#prey, world.machine.sentinel);
  }

  /** A request that is answered by the API server alone. */
  nextRequest(): Action {
    const dice = this.#random.below(100);
    if (dice < 45) return this.#create();
    if (dice < 65) return this.#change();
    if (dice < 75) return this.#delete();
    if (dice < 87) return this.#subresource();
    return this.#touchOthers();
  }

  /** A slow action: code in a sandbox, a stream, a request through the router or a proxy. */
  nextStream(): Action {
    const dice = this.#random.below(100);
    if (dice < 50) return this.#runInside();
    if (dice < 75) return this.#askRouter();
    const path = pathOf({ apiVersion: "v1", plural: "pods", namespaced: true }, this.#tenant.namespace);
    const pod = `${path}/${this.#podName()}`;
    if (dice < 85) return this.#proxy(this.#random.chance(0.5) ? pod : pod.replace("/pods/", "/services/"));
    return this.#stream(pod, this.#random.pick(["exec", "attach", "portforward", "log"]));
  }

  #object(kind: ServedKind, name: string): Fields {
    return hostileObject(this.#random, kind, name, this.#prey, this.#world.runtimes);
  }

  #request(method: Method, path: string, body?: unknown, headers: Record<string, string> = {}): Action {
    const what = `${method} ${path} ${JSON.stringify(headers)} ${body === undefined ? "" : JSON.stringify(body).slice(0, 700)}`;
    return { what, run: () => this.#send(method, path, body, headers, patienceMs) };
  }

  async #send(
    method: Method,
    path: string,
    body: unknown,
    headers: Record<string, string>,
    ms: number,
  ): Promise<Outcome> {
    const signal = AbortSignal.timeout(ms);
    const answer = await this.#tenant.transport
      .send({ method, path, headers, signal, ...(body !== undefined && { body }) })
      .catch((error: unknown) => ({ status: 0, body: String(error) }));
    return { status: answer.status, text: JSON.stringify(answer.body) ?? "" };
  }

  #query(): string {
    return this.#random.chance(0.1)
      ? this.#random.pick(["?dryRun=All", "?fieldValidation=Strict", "?fieldManager=kubelet"])
      : "";
  }

  #create(): Action {
    const kind = this.#random.pick(this.#kinds.filter(({ verbs }) => verbs.includes("create")));
    const path = pathOf(kind, this.#tenant.namespace);
    const action = this.#request("POST", `${path}${this.#query()}`, this.#object(kind, this.#random.pick(ownNames)));
    return { ...action, isForbidden: !kind.namespaced && !reviews.test(kind.plural) };
  }

  #change(): Action {
    const random = this.#random;
    const kind = random.pick(this.#kinds.filter(({ verbs, namespaced }) => namespaced && verbs.includes("patch")));
    const path = `${pathOf(kind, this.#tenant.namespace)}/${random.pick(ownNames)}`;
    const object = this.#object(kind, random.pick(ownNames));
    if (random.chance(0.3))
      return this.#request("PUT", path, {
        ...object,
        metadata: { ...(object["metadata"] as object), name: path.split("/").at(-1) },
      });
    const type = random.pick(patchTypes);
    const headers = { "content-type": `application/${type}+${type === "apply-patch" ? "yaml" : "json"}` };
    const changed = Object.entries(object).filter(([field]) => !["apiVersion", "kind"].includes(field));
    const pointers = changed.map(([field, value]) => ({
      op: random.pick(["add", "replace", "remove"]),
      path: `/${field}`,
      value,
    }));
    const body = type === "json-patch" ? pointers : object;
    return this.#request(
      "PATCH",
      `${path}?fieldManager=m&force=true`.replace(type === "apply-patch" ? "" : "&force=true", ""),
      body,
      headers,
    );
  }

  #delete(): Action {
    const random = this.#random;
    const kind = random.pick(this.#kinds.filter(({ verbs, namespaced }) => namespaced && verbs.includes("delete")));
    const all = random.chance(0.05);
    const path = `${pathOf(kind, this.#tenant.namespace)}${all ? "" : `/${random.pick(ownNames)}`}`;
    const options = {
      ...(random.chance(0.6) && { gracePeriodSeconds: random.pick([0, 0, 1, -1, 2 ** 31]) }),
      ...(random.chance(0.3) && { propagationPolicy: random.pick(["Foreground", "Background", "Orphan", "x"]) }),
      ...(random.chance(0.1) && { preconditions: { uid: random.pick(this.#prey.uids) } }),
    };
    return this.#request("DELETE", path, { apiVersion: "v1", kind: "DeleteOptions", ...options });
  }

  #podName(): string {
    const { names } = this.pods;
    return names.length > 0 && this.#random.chance(0.95) ? this.#random.pick(names) : this.#random.pick(ownNames);
  }

  #runInside(): Action {
    const [pod, script] = [this.#podName(), this.#random.pick(this.#scripts)];
    const run = (): Promise<Outcome> => {
      const patience = new Promise<Outcome>((resolve) =>
        setTimeout(resolve, streamPatienceMs, { status: 0, text: "" }).unref(),
      );
      const ran = this.#tenant.exec(pod, script).then(
        ({ stdout, stderr }) => ({ status: 200, text: stdout + stderr }),
        (error: unknown) => ({ status: 0, text: String(error) }),
      );
      return Promise.race([ran, patience]);
    };
    return { what: `exec in ${pod}: ${script}`, isStream: true, run };
  }

  #subresource(): Action {
    const random = this.#random;
    const kind = random.pick(
      this.#kinds.filter(({ subresources, namespaced }) => namespaced && subresources.length > 0),
    );
    const part = random.pick(kind.subresources.filter((each) => !streams.includes(each)));
    if (part === undefined) return this.#create();
    const path = `${pathOf(kind, this.#tenant.namespace)}/${random.pick(ownNames)}`;
    const method = random.pick(["GET", "POST", "PUT", "PATCH"] as const);
    const headers: Record<string, string> =
      method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {};
    return this.#request(method, `${path}/${part}`, method === "GET" ? undefined : this.#partBody(kind, part), headers);
  }

  #partBody(kind: ServedKind, part: string): object {
    const [random, prey] = [this.#random, this.#prey];
    const text = (field: string): string => hostileText(random, field, prey);
    const reference = {
      kind: random.pick(["Pod", "Secret", "Node"]),
      apiVersion: "v1",
      name: text("name"),
      uid: text("uid"),
    };
    const bodies: Readonly<Record<string, () => object>> = {
      token: () => ({
        spec: {
          audiences: [random.pick(["api", "sandbox-router", text("audience")])],
          expirationSeconds: hostileNumber(random, "seconds"),
          ...(random.chance(0.5) && { boundObjectRef: reference }),
        },
      }),
      eviction: () => ({
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name: text("name"), namespace: text("namespace") },
      }),
      binding: () => ({ apiVersion: "v1", kind: "Binding", target: { kind: "Node", name: text("name") } }),
      scale: () => ({ spec: { replicas: hostileNumber(random, "replicas") } }),
      status: () => ({
        status: { podIP: text("ip"), podIPs: [{ ip: text("ip") }], phase: "Running", sandbox: { name: text("name") } },
      }),
      ephemeralcontainers: () => ({
        spec: {
          ephemeralContainers: [
            { name: text("name"), image: text("image"), targetContainerName: text("name"), command: ["id"] },
          ],
        },
      }),
    };
    return bodies[part]?.() ?? this.#object(kind, random.pick(ownNames));
  }

  #stream(path: string, part: string): Action {
    const random = this.#random;
    const query = new URLSearchParams({
      stdout: "true",
      stdin: "true",
      command: hostileText(random, "text", this.#prey),
    });
    if (random.chance(0.5)) query.set("container", hostileText(random, "name", this.#prey));
    query.set("ports", String(hostileNumber(random, "port")));
    query.set("tailLines", String(hostileNumber(random, "lines")));
    const target = `${path}/${part}?${query.toString()}`;
    if (part === "log")
      return {
        what: `GET ${target}`,
        isStream: true,
        run: () => this.#send("GET", target, undefined, {}, streamPatienceMs),
      };
    const run = async (): Promise<Outcome> => {
      try {
        const socket = await openSocket(
          this.#tenant.access,
          target,
          random.pick(["v5.channel.k8s.io", "v4.channel.k8s.io"]),
        );
        const heard: string[] = [];
        socket.on("error", () => undefined).on("message", (data: Buffer) => heard.push(data.toString("latin1")));
        socket.send(Buffer.concat([Buffer.of(0), Buffer.from("GET /diary HTTP/1.0\r\n\r\n")]));
        await new Promise((resolve) => setTimeout(resolve, 200));
        socket.terminate();
        return { status: 200, text: heard.join("") };
      } catch (error) {
        return { status: 0, text: String(error) };
      }
    };
    return { what: `stream ${target}`, isStream: true, run };
  }

  #proxy(path: string): Action {
    const random = this.#random;
    const port = random.pick(["", ":8000", ":80", ":7643", ":0", ":x", `:${random.pick(this.#prey.addresses)}`]);
    const scheme = random.pick(["", "", "https:", "http:"]);
    const [folder, name] = [path.slice(0, path.lastIndexOf("/")), path.slice(path.lastIndexOf("/") + 1)];
    const target = `${folder}/${encodeURIComponent(`${scheme}${name}${port}`)}/proxy/${random.pick(["diary", "..%2f..", "//x", "%0d%0aX:y", ""])}`;
    return {
      what: `GET ${target}`,
      isStream: true,
      run: () => this.#send("GET", target, undefined, {}, streamPatienceMs),
    };
  }

  /** An action on objects of the victim or of the cluster, or with impersonation. */
  #touchOthers(): Action {
    const random = this.#random;
    const kind = random.pick(this.#kinds.filter(({ plural }) => !reviews.test(plural)));
    const namespace = random.pick(["alice", "alice", "default", "kube-system", "agent-sandbox-system"]);
    const name = random.chance(0.7)
      ? `/${random.pick(["web", "friend", "ledger", "alice", "kubernetes", "web-runtime"])}`
      : "";
    const part = random.chance(0.3) && name !== "" ? `/${random.pick([...kind.subresources, "status"])}` : "";
    const method = random.pick(["GET", "GET", "POST", "PUT", "PATCH", "DELETE"] as const);
    const isOwn = random.chance(0.3);
    const headers: Record<string, string> = {
      ...(method === "PATCH" && { "content-type": "application/merge-patch+json" }),
      ...(isOwn && impersonations[random.below(impersonations.length)]),
    };
    const path = `${pathOf(kind, isOwn ? this.#tenant.namespace : namespace)}${name}${part}${this.#query()}`;
    const body = method === "GET" ? undefined : this.#object(kind, random.pick(ownNames));
    return { ...this.#request(method, path, body, headers), isForbidden: true };
  }

  #askRouter(): Action {
    const random = this.#random;
    const isOwn = random.chance(0.5);
    const headers: Record<string, string> = {
      [random.pick([
        "X-Sandbox-Pod-IP",
        "X-Sandbox-UID",
        "X-Forwarded-Host",
        "X-Sandbox-Namespace",
        "Forwarded",
        "X-Sandbox-Token",
      ])]: printable(random.pick([...this.#prey.addresses, ...this.#prey.uids, "alice"])),
    };
    const name = isOwn ? random.pick(ownNames) : random.pick(["web", "friend"]);
    const target = random.pick([
      "/diary",
      "/",
      "/..%2f",
      "/sandboxes/alice/web/8000/diary",
      "http://web.alice.localhost/diary",
    ]);
    const namespace = isOwn ? this.#tenant.namespace : "alice";
    const run = (): Promise<Outcome> =>
      this.#tenant
        .ask(name, random.pick([8000, 8888, 22]), target, {
          namespace,
          headers,
          signal: AbortSignal.timeout(streamPatienceMs),
        })
        .then(
          ({ status, text }) => ({ status, text }),
          (error: unknown) => ({ status: 0, text: String(error) }),
        );
    return { what: `router ${namespace}/${name} ${target} ${JSON.stringify(headers)}`, isStream: true, run };
  }
}

const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 500);

/** Impersonation headers for users that the attacker may not impersonate. */
const impersonations: readonly Record<string, string>[] = [
  { "impersonate-user": "system:admin" },
  { "impersonate-user": "x", "impersonate-group": "system:masters" },
  { "impersonate-user": "system:serviceaccount:alice:alice" },
  { "impersonate-user": "system:serviceaccount:agent-sandbox-system:agent-sandbox-controller" },
  { "impersonate-user": "system:node:vm", "impersonate-group": "system:nodes" },
  { "impersonate-group": "system:masters" },
  { "impersonate-uid": "1" },
];
