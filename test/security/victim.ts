import { randomBytes } from "node:crypto";
import type { NetworkPolicy, PersistentVolumeClaim, Service } from "@agent-sandbox/api";
import type { Resource } from "@agent-sandbox/kube";
import { type Runtime, Tenant, type TenantAccount, type WantedPod } from "./tenant.ts";
import { isPodReady, until } from "./until.ts";

const core = { apiVersion: "v1", namespaced: true } as const;
export const services: Resource<Service> = { ...core, kind: "Service", plural: "services" };
export const claims: Resource<PersistentVolumeClaim> = {
  ...core,
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
};
export const networkPolicies: Resource<NetworkPolicy> = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
};

/** The victim's objects and secret, recorded when they are created, for all test files. */
export interface VictimRecord {
  readonly account: TenantAccount;
  /** A text in a private file, in the volume and on the web server. An attacker who has it has read one of them. */
  readonly secret: string;
  readonly pods: Readonly<Record<string, { readonly uid: string; readonly address: string }>>;
  /** UIDs of the victim's Sandboxes and claim. */
  readonly uids: Readonly<Record<string, string>>;
}

const port = 8000;

/**
 * The victim runs two Sandboxes. `web` serves the secret to `friend` through a Service, and `friend` has the same secret in a volume.
 * NetworkPolicies allow only connections from `friend` to `web`.
 */
export class Victim extends Tenant {
  readonly record: VictimRecord;
  static readonly port: number = port;

  constructor(record: VictimRecord) {
    super(record.account);
    this.record = record;
  }

  get secret(): string {
    return this.record.secret;
  }

  /** Creates the victim's objects and waits until they work. */
  static async settle(account: TenantAccount, runtimes: readonly Runtime[]): Promise<VictimRecord> {
    await using tenant = new Tenant(account);
    const secret = `secret-${randomBytes(8).toString("hex")}`;
    const claim = await tenant.create(claims, "ledger", {
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Mi" } } },
    });
    await tenant.create(services, "web", { spec: { selector: { role: "web" }, ports: [{ port, targetPort: port }] } });
    for (const policy of policies) await tenant.create(networkPolicies, policy.name, { spec: policy.spec });
    const [sandbox, other] = [runtimes.at(0), runtimes.at(-1)];
    const web = await tenant.createSandbox("web", { ...server("web", secret), ...(sandbox && { runtime: sandbox }) });
    const friend = await tenant.createSandbox("friend", {
      ...server("friend", secret, [{ name: "ledger", persistentVolumeClaim: { claimName: "ledger" } }]),
      ...(other && { runtime: other }),
    });
    const uids = {
      web: web.metadata?.uid ?? "",
      friend: friend.metadata?.uid ?? "",
      ledger: claim.metadata?.uid ?? "",
    };
    const made = await Promise.all(["web", "friend"].map((name) => tenant.podUntil(name, isPodReady)));
    const podsOf = made.map(({ metadata, status }) => [
      metadata?.name ?? "",
      { uid: metadata?.uid ?? "", address: status?.podIP ?? "" },
    ]);
    await tenant.shell("friend", `echo ${secret} >/ledger/secret; chmod 600 /ledger/secret`);
    const record: VictimRecord = { account, secret, uids, pods: Object.fromEntries(podsOf) };
    await using victim = new Victim(record);
    await until(async () => ((await victim.state()).service === secret ? true : undefined));
    return record;
  }

  /** The current state of the victim's objects, traffic and files. `harm` compares it with the expected state. */
  async state(): Promise<VictimState> {
    const { pods: known, secret } = this.record;
    const [web, friend] = await Promise.all(["web", "friend"].map((name) => this.pod(name).catch(() => undefined)));
    const ask = `python3 -c '${fetchBoth(known["friend"]?.address ?? "")}'; cat /ledger/secret /private/diary`;
    const [fromFriend, fromWeb, routed] = await Promise.all([
      this.shell("friend", ask).catch(String),
      this.shell("web", `python3 -c '${reach(known["friend"]?.address ?? "")}'; cat /private/diary; ls /private`).catch(
        String,
      ),
      this.ask("web", port, "/diary").then(({ status, text }) => `${status} ${text.trim()}`, String),
    ]);
    const [service = "", address = "", ...files] = fromFriend.split("\n");
    const restarts = [web, friend].flatMap((pod) => pod?.status?.containerStatuses?.map((each) => each.restartCount));
    return {
      pods: Object.fromEntries([web, friend].map((pod) => [pod?.metadata?.name, pod?.metadata?.uid])),
      addresses: Object.fromEntries([web, friend].map((pod) => [pod?.metadata?.name, pod?.status?.podIP])),
      restarts,
      routed,
      service,
      policy: [address, ...fromWeb.split("\n").slice(0, 1)].join(", "),
      files: [...files, ...fromWeb.split("\n").slice(1)].map((line) => line.replaceAll(secret, "secret")),
    };
  }

  /**
   * The harm done to the victim, one sentence for each. Empty if the Pods are the same and never restarted, and traffic,
   * policies, names, files and the volume work as at the start.
   */
  async harm(): Promise<string[]> {
    const { pods: known, secret } = this.record;
    const each = (what: "uid" | "address"): Record<string, string> =>
      Object.fromEntries(Object.entries(known).map(([name, pod]) => [name, pod[what]]));
    const wanted: VictimState = {
      pods: each("uid"),
      addresses: each("address"),
      restarts: [0, 0],
      routed: `200 ${secret}`,
      service: secret,
      policy: "own port open, refused by policy",
      files: ["secret", "secret", "secret", "diary"],
    };
    const state = await this.state();
    const aspects = Object.keys(wanted) as (keyof VictimState)[];
    return aspects
      .map((aspect) => [aspect, JSON.stringify(wanted[aspect]), JSON.stringify(state[aspect])])
      .filter(([, should, is]) => should !== is)
      .map(([aspect, should, is]) => `${aspect} should be ${should} and is ${is}`);
  }

  /** Whether the victim can still create objects during an attack: a Pod starts, and a policy for it takes effect and is removed. */
  async startsPodsAndPolicies(): Promise<boolean> {
    const name = `new-${randomBytes(4).toString("hex")}`;
    await this.runPod(name, { metadata: { labels: { role: "friend", new: name } } });
    const fetch = fetchDiary(this.record.pods["web"]?.address ?? "");
    const says = (wanted: string): Promise<true> =>
      until(
        async () => ((await this.shell(name, `python3 -c '${fetch}'`)) === wanted ? true : undefined),
        () => `the victim's new Pod never saw "${wanted}"`,
      );
    await says(this.secret);
    const spec = { podSelector: { matchLabels: { new: name } }, policyTypes: ["Egress"] };
    await this.create(networkPolicies, name, { spec });
    await says("refused by policy");
    await this.client.delete(networkPolicies, { namespace: this.namespace, name });
    await says(this.secret);
    await this.removePod(name);
    return true;
  }
}

export interface VictimState {
  readonly pods: Record<string, string | undefined>;
  readonly addresses: Record<string, string | undefined>;
  readonly restarts: readonly (number | undefined)[];
  readonly routed: string;
  readonly service: string;
  readonly policy: string;
  readonly files: readonly string[];
}

const serveScript = (secret: string): string =>
  `umask 077; mkdir -p /private; echo ${secret} >/private/diary; cd /private; exec python3 -m http.server ${port}`;

function server(role: string, secret: string, volumes: { name: string; [source: string]: unknown }[] = []): WantedPod {
  const readinessProbe = { tcpSocket: { port }, periodSeconds: 1 };
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  const command = ["sh", "-c", serveScript(secret)];
  return {
    metadata: { labels: { role } },
    spec: { volumes, containers: [{ name: "main", image: "host", command, readinessProbe, volumeMounts }] },
  };
}

const policies: readonly { readonly name: string; readonly spec: NonNullable<NetworkPolicy["spec"]> }[] = [
  { name: "closed", spec: { podSelector: {}, policyTypes: ["Ingress"] } },
  {
    name: "friend-to-web",
    spec: {
      podSelector: { matchLabels: { role: "web" } },
      ingress: [{ from: [{ podSelector: { matchLabels: { role: "friend" } } }] }],
    },
  },
];

const python = (body: string): string => `
import socket, urllib.request
def fetch(url, patience=5):
    try: return urllib.request.urlopen(url, timeout=patience).read().decode().strip()
    except OSError: return "refused by policy"
${body}`;

const fetchDiary = (host: string): string => python(`print(fetch("http://${host}:${port}/diary", 1))`);

/** Connects to the web server by its name, and to the Pod's own port, which no other Pod may reach. */
const fetchBoth = (own: string): string =>
  python(`print(fetch("http://web:${port}/diary"))
print("own port open" if socket.create_connection(("${own}", ${port}), 5) else "")`);

const reach = (address: string): string =>
  python(`
try: socket.create_connection(("${address}", ${port}), 1); print("reached")
except OSError: print("refused by policy")`);
