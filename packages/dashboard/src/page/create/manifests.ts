/** The objects that the forms create. Pure: the form shows exactly what is sent. */
import {
  choosePool,
  emptyPoolOf,
  type Sandbox,
  type SandboxClaim,
  type SandboxSnapshot,
  type SandboxTemplate,
  type SandboxWarmPool,
} from "@agent-sandbox/api";

/** The texts of a form by the name of their field. An empty one was left out. */
export type Values = Readonly<Record<string, string>>;

interface Place {
  readonly name: string;
  readonly namespace: string;
}

const placeOf = ({ name = "", namespace = "" }: Values): Place => ({ name, namespace });

/** Without requests, Kubernetes would reserve the limits for each sandbox. */
function resourcesOf({ cpu = "", memory = "" }: Values): object {
  const limits = { ...(cpu !== "" && { cpu }), ...(memory !== "" && { memory }) };
  const requests = Object.fromEntries(Object.keys(limits).map((name) => [name, "0"]));
  return Object.keys(limits).length === 0 ? {} : { resources: { limits, requests } };
}

function blueprintOf(values: Values) {
  const { image = "", runtimeClass = "", idleSeconds = "", depth = "", env = "", command = "" } = values;
  const variables = variablesOf(env);
  const words = command.split("\n").filter((word) => word !== "");
  const container = {
    name: "main",
    image,
    ...(words.length > 0 && { command: words }),
    ...(variables.length > 0 && { env: variables }),
    ...resourcesOf(values),
  };
  return {
    runtime: "Injected" as const,
    podTemplate: {
      spec: {
        ...(runtimeClass !== "" && { runtimeClassName: runtimeClass }),
        containers: [container],
      },
    },
    ...(idleSeconds !== "" && { idlePolicy: { suspendAfterSeconds: Number(idleSeconds) } }),
    ...(depth !== "" && { suspendPolicy: { depth: depth as "Memory" } }),
  };
}

/** One `NAME=value` in each line. */
function variablesOf(text: string): { name: string; value: string }[] {
  return text.split("\n").flatMap((line) => {
    const sign = line.indexOf("=");
    return sign < 1 ? [] : [{ name: line.slice(0, sign).trim(), value: line.slice(sign + 1) }];
  });
}

export function newSandbox(values: Values): Sandbox {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: placeOf(values),
    spec: blueprintOf(values),
  };
}

export function newTemplate(values: Values): SandboxTemplate {
  return {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxTemplate",
    metadata: placeOf(values),
    spec: blueprintOf(values),
  };
}

export function newPool(values: Values): SandboxWarmPool {
  const { template = "", replicas = "", strategy = "" } = values;
  return {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxWarmPool",
    metadata: placeOf(values),
    spec: {
      replicas: Number(replicas),
      sandboxTemplateRef: { name: template },
      ...(strategy !== "" && { updateStrategy: { type: strategy as "Recreate" } }),
    },
  };
}

export function newSnapshot(values: Values): SandboxSnapshot {
  const { sandbox = "", depth = "", keep = "", ttlSeconds = "" } = values;
  return {
    apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
    kind: "SandboxSnapshot",
    metadata: placeOf(values),
    spec: {
      sandboxRef: { name: sandbox },
      ...(depth !== "" && { depth: depth as "Memory" }),
      ...(ttlSeconds !== "" && { ttlSecondsAfterCreation: Number(ttlSeconds) }),
      ...(keep !== "" && { deletionPolicy: keep as "Retain" }),
    },
  };
}

export function newClaim(values: Values): SandboxClaim {
  const { pool = "", ttlSeconds = "", shutdown = "", env = "" } = values;
  const variables = variablesOf(env);
  const lifecycle = {
    ...(ttlSeconds !== "" && { ttlSecondsAfterFinished: Number(ttlSeconds) }),
    ...(shutdown !== "" && { shutdownPolicy: shutdown as "Delete" }),
  };
  return {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    metadata: placeOf(values),
    spec: {
      warmPoolRef: { name: pool },
      ...(Object.keys(lifecycle).length > 0 && { lifecycle }),
      ...(variables.length > 0 && { env: variables }),
    },
  };
}

/**
 * What starts a sandbox from a template: a claim of one of its pools. A template without a pool gets an empty one, because a claim
 * must name a pool.
 */
export function startOf(
  template: SandboxTemplate,
  pools: readonly SandboxWarmPool[],
  name: string,
): { readonly pool: SandboxWarmPool | undefined; readonly claim: SandboxClaim } {
  const { namespace = "", name: source = "" } = template.metadata;
  const own = pools.filter(({ metadata }) => metadata.namespace === namespace);
  const found = choosePool(own, source);
  const pool = found === undefined ? emptyPoolOf(template, namespace) : undefined;
  return { pool, claim: newClaim({ name, namespace, pool: found ?? pool?.metadata.name ?? "" }) };
}

/** As in `sandbox-k3f9`. */
export function freshName(prefix: string): string {
  const letters = "bcdfghjkmnpqrstvwxz23456789";
  const bytes = crypto.getRandomValues(new Uint8Array(5));
  return `${prefix}-${[...bytes].map((byte) => letters[byte % letters.length]).join("")}`;
}
