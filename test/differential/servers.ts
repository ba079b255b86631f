import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiServer } from "@agent-sandbox/apiserver";
import { Authority } from "../kube-apiserver/authority.ts";
import { ensureOlderKubectl } from "../kube-apiserver/binaries.ts";
import { startConversionWebhook } from "../kube-apiserver/conversion-webhook.ts";
import { installCrds } from "../kube-apiserver/install-crds.ts";
import { startKubernetes } from "../kube-apiserver/start.ts";
import type { KubectlRelease, KubectlStep } from "./case.ts";

/** A client certificate, as PEM. */
interface Credentials {
  readonly certificate: string;
  readonly key: string;
}

export interface Server {
  readonly name: "theirs" | "ours";
  readonly url: string;
  /** Connects as the administrator. */
  readonly agent: Agent;
  /** Connects without a certificate, for requests with their own `authorization`. */
  readonly anonymousAgent: Agent;
  /** The home folder of kubectl, for its caches. */
  readonly home: string;
  /** Paths by user: `stranger` has a certificate of an unknown authority, `nobody` has none. */
  readonly kubeconfigs: { readonly [who in NonNullable<KubectlStep["as"]>]: string };
}

export interface ServerPair extends AsyncDisposable {
  readonly theirs: Server;
  readonly ours: Server;
  /** The paths of the kubectl built from the same release as kube-apiserver, and of Debian's. */
  readonly kubectl: { readonly [release in KubectlRelease]: string };
}

const admin = { user: "admin", groups: ["system:masters"] };
const visitor = { user: "visitor", groups: ["visitors"] };

const controllers = [
  "garbage-collector-controller",
  "namespace-controller",
  "serviceaccount-controller",
  "clusterrole-aggregation-controller",
];

/**
 * These admission plugins serve a cluster's scheduler and node lifecycle controller, which run neither in this suite nor in the
 * box.
 */
const notOfTheBox = ["DefaultTolerationSeconds", "Priority", "TaintNodesByCondition"];

/** kube-apiserver with our CRDs and conversion webhook, and our embedded API server, both on loopback. */
export async function startServers(): Promise<ServerPair> {
  await using undo = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "differential-"));
  undo.defer(() => rmSync(folder, { recursive: true, force: true }));

  const kubernetes = undo.use(
    await startKubernetes({
      serviceAccounts: true,
      controllers,
      // Every case waits for the service account of its namespace. By default a controller sends 20 requests a second.
      controllerManagerFlags: ["--kube-api-qps=500", "--kube-api-burst=500"],
      apiServerFlags: [`--disable-admission-plugins=${notOfTheBox.join(",")}`],
      prepare: async (server) => {
        const webhook = undo.use(await startConversionWebhook(server.authority));
        await installCrds(server, { webhook });
      },
    }),
  );

  const embedded = undo.use(await createApiServer());
  const listening = await embedded.listen();

  const stranger = readPair(new Authority(folder).issueClient(admin.user, admin.groups));
  const known = ({ user, groups }: typeof admin): Credentials =>
    readPair(kubernetes.authority.issueClient(user, groups));
  const theirs = openServer(folder, {
    name: "theirs",
    url: kubernetes.url,
    authority: readFileSync(kubernetes.authority.certificate, "utf8"),
    credentials: { admin: known(admin), visitor: known(visitor), stranger },
  });
  const ours = openServer(folder, {
    name: "ours",
    url: listening.url,
    authority: listening.authority,
    credentials: {
      admin: listening.issueClientCertificate(admin),
      visitor: listening.issueClientCertificate(visitor),
      stranger,
    },
  });
  for (const { agent, anonymousAgent } of [theirs, ours]) {
    undo.defer(() => agent.destroy());
    undo.defer(() => anonymousAgent.destroy());
  }
  const owned = undo.move();
  return {
    theirs,
    ours,
    kubectl: { same: kubernetes.binaries.kubectl, older: await ensureOlderKubectl() },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface ServerParts {
  readonly name: Server["name"];
  readonly url: string;
  readonly authority: string;
  readonly credentials: { readonly [who in "admin" | "visitor" | "stranger"]: Credentials };
}

function openServer(folder: string, { name, url, authority, credentials }: ServerParts): Server {
  const kubeconfig = (who: keyof Server["kubeconfigs"]): string => {
    const user = who === "nobody" ? {} : login(credentials[who]);
    const path = join(folder, `${name}-${who}.kubeconfig`);
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "test", cluster: { server: url, "certificate-authority-data": base64(authority) } }],
      users: [{ name: who, user }],
      contexts: [{ name: "test", context: { cluster: "test", user: who } }],
      "current-context": "test",
    };
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  };
  const { certificate: cert, key } = credentials.admin;
  return {
    name,
    url,
    agent: new Agent({ ca: authority, cert, key, keepAlive: true, maxSockets: 16 }),
    anonymousAgent: new Agent({ ca: authority, maxSockets: 16 }),
    home: join(folder, name),
    kubeconfigs: {
      admin: kubeconfig("admin"),
      visitor: kubeconfig("visitor"),
      stranger: kubeconfig("stranger"),
      nobody: kubeconfig("nobody"),
    },
  };
}

function login({ certificate, key }: Credentials): object {
  return { "client-certificate-data": base64(certificate), "client-key-data": base64(key) };
}

function readPair(paths: { readonly certificate: string; readonly key: string }): Credentials {
  return { certificate: readFileSync(paths.certificate, "utf8"), key: readFileSync(paths.key, "utf8") };
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
