import {
  controllerReference,
  nameHash,
  type Pod,
  type Sandbox,
  type SandboxClaim,
  type SandboxTemplate,
  type SandboxWarmPool,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import { pods, services, volumeClaims } from "@agent-sandbox/controllers";
import type { Client, KubeObject, Resource } from "@agent-sandbox/kube";

export const namespace = "demo";
export const systemNamespace = "agent-sandbox-system";
export const leaseName = "a3317529.agent-sandbox.x-k8s.io";

const group = "agents.x-k8s.io";
const core = `${group}/v1beta1`;
const extensions = `extensions.${group}/v1beta1`;
const since = "2026-11-16T01:44:04Z";

export const networkPolicies: Resource = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
};
export const leases: Resource<KubeObject & { spec?: { holderIdentity?: string | null } }> = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
};

/** Hashes that another implementation computes: their bytes cannot be reproduced, so a pool must compare the objects instead. */
const blueprintHash = "b85ba8a9";
const podTemplateHash = "1307c04f";

const container = { name: "main", image: "registry.k8s.io/pause:3.10" };
const volumeClaimTemplates = [
  { metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
];
const secureDefaults = {
  automountServiceAccountToken: false,
  dnsPolicy: "None",
  dnsConfig: { nameservers: ["8.8.8.8", "1.1.1.1"] },
};

/**
 * Puts objects into an API server as the reference implementation leaves them when it is stopped: a template, a pool of two, claims
 * that were served from the pool (`warm`), by a new Sandbox (`cold`) and not at all (`missing-pool`), and Sandboxes of their own: one
 * with a Service (`direct`), a suspended one (`asleep`) and an expired one (`expires`).
 */
export class ReferenceObjects {
  readonly #client: Client;
  #addresses = 1;

  constructor(client: Client) {
    this.#client = client;
  }

  async create(): Promise<void> {
    await this.#lease();
    const template = await this.#template();
    await this.#policy(template);
    const pool = await this.#pool();
    await this.#member("p-mdlp5", pool);
    await this.#member("p-xzbdc", pool);
    await this.#warmClaim();
    await this.#coldClaim();
    await this.#claimWithoutPool();
    await this.#direct();
    await this.#asleep();
    await this.#expired();
  }

  /** Released by a clean stop. */
  async #lease(): Promise<void> {
    await this.#client.create(leases, {
      metadata: { name: leaseName, namespace: systemNamespace },
      spec: { holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 1 },
    } as KubeObject);
  }

  #template(): Promise<SandboxTemplate> {
    return this.#client.create(sandboxTemplates, {
      apiVersion: extensions,
      kind: "SandboxTemplate",
      metadata: { name: "t", namespace, labels: { [`${group}/sandbox-template-ref-hash`]: nameHash("t") } },
      spec: {
        envVarsInjectionPolicy: "Allowed",
        networkPolicyManagement: "Managed",
        podTemplate: { metadata: { labels: { app: "t" } }, spec: { containers: [container] } },
        volumeClaimTemplates,
        volumeClaimTemplatesPolicy: "Disallowed",
      },
    });
  }

  async #policy(template: SandboxTemplate): Promise<void> {
    await this.#client.create(networkPolicies, {
      metadata: {
        name: "t-network-policy",
        namespace,
        ownerReferences: [controllerReference(sandboxTemplates, template)],
      },
      spec: defaultPolicy(nameHash("t")),
    } as KubeObject);
  }

  async #pool(): Promise<SandboxWarmPool> {
    const pool = await this.#client.create(sandboxWarmPools, {
      apiVersion: extensions,
      kind: "SandboxWarmPool",
      metadata: { name: "p", namespace },
      spec: { replicas: 2, sandboxTemplateRef: { name: "t" } },
    });
    const selector = `${group}/warm-pool-sandbox=${nameHash("p")}`;
    await this.#status(sandboxWarmPools, "p", { observedGeneration: 1, readyReplicas: 2, replicas: 2, selector });
    return pool;
  }

  /** The labels are in the pod template too, which the reference filters when it creates the Pod. */
  async #member(name: string, pool: SandboxWarmPool): Promise<void> {
    const identity = {
      [`${group}/sandbox-pod-template-hash`]: podTemplateHash,
      [`${group}/sandbox-template-hash`]: blueprintHash,
      [`${group}/sandbox-template-ref-hash`]: nameHash("t"),
      [`${group}/warm-pool-sandbox`]: nameHash("p"),
    };
    const sandbox = await this.#client.create(sandboxes, {
      apiVersion: core,
      kind: "Sandbox",
      metadata: {
        name,
        namespace,
        generateName: "p-",
        labels: { ...identity, [`${group}/created-by`]: "controller", [`${group}/launch-type`]: "warm" },
        annotations: { [`${group}/pod-name`]: name, [`${group}/sandbox-template-ref`]: "t" },
        ownerReferences: [controllerReference(sandboxWarmPools, pool)],
      },
      spec: templated({
        labels: { ...identity, app: "t" },
        annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "true" },
      }),
    });
    await this.#volume(sandbox);
    await this.#pod(sandbox, {
      labels: {
        ...hashesOf("t"),
        app: "t",
        [`${group}/created-by`]: "controller",
        [`${group}/warm-pool-sandbox`]: nameHash("p"),
      },
      annotations: {
        [`${group}/propagated-annotations`]: "cluster-autoscaler.kubernetes.io/safe-to-evict",
        [`${group}/propagated-labels`]: "app",
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
      },
    });
  }

  async #warmClaim(): Promise<void> {
    const claim = await this.#claim("warm", {
      annotations: {
        [`${group}/claim-first-ready-at`]: "unknown",
        [`${group}/controller-first-observed-at`]: "2026-11-16T01:44:15.688667527Z",
        [`${group}/sandbox-name`]: "p-bd2cs",
      },
      spec: { additionalPodMetadata: {}, warmPoolRef: { name: "p" } },
    });
    const sandbox = await this.#claimed("p-bd2cs", claim, "warm");
    const podIPs = await this.#pod(sandbox, {
      labels: { ...hashesOf("t"), app: "t" },
      annotations: { [`${group}/propagated-annotations`]: "", [`${group}/propagated-labels`]: "app" },
    });
    await this.#status(sandboxClaims, "warm", {
      conditions: [condition("Ready", "True", "DependenciesReady", "Pod is Ready", claim.metadata.generation)],
      sandbox: { name: "p-bd2cs", podIPs },
    });
  }

  async #coldClaim(): Promise<void> {
    const env = [{ name: "A", value: "b" }];
    const claim = await this.#claim("cold", {
      annotations: {
        [`${group}/claim-first-ready-at`]: "2026-11-16T01:44:46.151017022Z",
        [`${group}/controller-first-observed-at`]: "2026-11-16T01:44:45.75902033Z",
      },
      spec: { env, warmPoolRef: { name: "p" } },
    });
    const sandbox = await this.#claimed("cold", claim, "cold", { env });
    const annotations = { [`${group}/propagated-labels`]: "app" };
    const podIPs = await this.#pod(sandbox, { labels: { ...hashesOf("t"), app: "t" }, annotations });
    await this.#status(sandboxClaims, "cold", {
      conditions: [condition("Ready", "True", "DependenciesReady", "Pod is Ready", claim.metadata.generation)],
      sandbox: { name: "cold", podIPs },
    });
  }

  async #claimWithoutPool(): Promise<void> {
    await this.#claim("missing-pool", {
      annotations: { [`${group}/controller-first-observed-at`]: "2026-11-16T01:44:15.759736325Z" },
      spec: { warmPoolRef: { name: "none" } },
    });
    await this.#status(sandboxClaims, "missing-pool", {
      conditions: [condition("Ready", "False", "WarmPoolNotFound", 'SandboxWarmPool "none" not found', 1)],
      sandbox: {},
    });
  }

  async #direct(): Promise<void> {
    const sandbox = await this.#own("direct", { service: true }, { [`${group}/pod-name`]: "direct" });
    await this.#client.create(services, {
      metadata: {
        name: "direct",
        namespace,
        labels: { [`${group}/sandbox-name-hash`]: nameHash("direct") },
        ownerReferences: [controllerReference(sandboxes, sandbox)],
      },
      spec: { clusterIP: "None", selector: { [`${group}/sandbox-name-hash`]: nameHash("direct") } },
    } as KubeObject);
    await this.#pod(
      sandbox,
      { labels: {} },
      { service: "direct", serviceFQDN: `direct.${namespace}.svc.cluster.local` },
    );
  }

  async #asleep(): Promise<void> {
    await this.#own("asleep", { operatingMode: "Suspended" }, {});
    const message = "Pod has been terminated. Sandbox is suspended";
    await this.#status(sandboxes, "asleep", {
      conditions: [
        condition("Suspended", "True", "PodTerminated", message, 1),
        condition("Ready", "False", "SandboxSuspended", "Sandbox is suspended", 1),
      ],
      selector: `${group}/sandbox-name-hash=${nameHash("asleep")}`,
    });
  }

  async #expired(): Promise<void> {
    await this.#own("expires", { shutdownTime: "2026-11-16T01:44:17Z" }, { [`${group}/pod-name`]: "expires" });
    await this.#status(sandboxes, "expires", {
      conditions: [
        condition("Suspended", "False", "NotSuspended", "Sandbox is not suspended", 1),
        condition("Ready", "False", "SandboxExpired", "Sandbox has expired", 1),
      ],
    });
  }

  #claim(
    name: string,
    { annotations, spec }: { annotations: Record<string, string>; spec: SandboxClaim["spec"] },
  ): Promise<SandboxClaim> {
    return this.#client.create(sandboxClaims, {
      apiVersion: extensions,
      kind: "SandboxClaim",
      metadata: { name, namespace, annotations },
      spec,
    });
  }

  async #claimed(name: string, claim: SandboxClaim, launchType: string, added: object = {}): Promise<Sandbox> {
    const identity = {
      [`${group}/claim-uid`]: claim.metadata.uid ?? "",
      [`${group}/sandbox-template-ref-hash`]: nameHash("t"),
    };
    const sandbox = await this.#client.create(sandboxes, {
      apiVersion: core,
      kind: "Sandbox",
      metadata: {
        name,
        namespace,
        labels: { ...identity, [`${group}/launch-type`]: launchType },
        annotations: { [`${group}/pod-name`]: name, [`${group}/sandbox-template-ref`]: "t" },
        ownerReferences: [controllerReference(sandboxClaims, claim)],
      },
      spec: templated({ labels: { ...identity, app: "t" } }, added),
    });
    await this.#volume(sandbox);
    return sandbox;
  }

  #own(name: string, spec: Partial<Sandbox["spec"]>, annotations: Record<string, string>): Promise<Sandbox> {
    return this.#client.create(sandboxes, {
      apiVersion: core,
      kind: "Sandbox",
      metadata: { name, namespace, annotations },
      spec: { shutdownPolicy: "Retain", podTemplate: { spec: { containers: [container] } }, ...spec },
    });
  }

  async #volume(sandbox: Sandbox): Promise<void> {
    const { name = "" } = sandbox.metadata;
    await this.#client.create(volumeClaims, {
      metadata: {
        name: `data-${name}`,
        namespace,
        labels: { [`${group}/sandbox-name-hash`]: nameHash(name) },
        ownerReferences: [controllerReference(sandboxes, sandbox)],
      },
      spec: volumeClaimTemplates[0]?.spec,
    } as KubeObject);
  }

  /** A Ready Pod, and the status of its Sandbox. Returns the addresses. */
  async #pod(
    sandbox: Sandbox,
    { labels, annotations }: { labels: Record<string, string>; annotations?: Record<string, string> },
    more: object = {},
  ): Promise<string[]> {
    const { name = "", generation } = sandbox.metadata;
    this.#addresses += 1;
    const ip = `10.244.0.${this.#addresses}`;
    const volumes = sandbox.spec.volumeClaimTemplates?.map(({ metadata }) => ({
      name: metadata?.name ?? "",
      persistentVolumeClaim: { claimName: `${metadata?.name}-${name}` },
    }));
    const pod: Pod = {
      metadata: {
        name,
        namespace,
        labels: { ...labels, [`${group}/sandbox-name-hash`]: nameHash(name) },
        ...(annotations && { annotations }),
        ownerReferences: [controllerReference(sandboxes, sandbox)],
      },
      spec: { ...sandbox.spec.podTemplate.spec, nodeName: "node1", ...(volumes && { volumes }) },
    };
    await this.#client.create(pods, pod);
    const conditions = ["PodScheduled", "Ready"].map((type) => ({ type, status: "True" }));
    await this.#status(pods, name, { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions });
    const message = "service" in more ? "Pod is Ready; Service Exists" : "Pod is Ready";
    await this.#status(sandboxes, name, {
      conditions: [
        condition("Suspended", "False", "NotSuspended", "Sandbox is not suspended", generation),
        condition("PodScheduled", "True", "PodScheduled", "", generation),
        condition("Ready", "True", "DependenciesReady", message, generation),
      ],
      nodeName: "node1",
      podIPs: [ip],
      selector: `${group}/sandbox-name-hash=${nameHash(name)}`,
      ...more,
    });
    return [ip];
  }

  async #status(resource: Resource, name: string, status: object): Promise<void> {
    await this.#client.patch(
      resource,
      { namespace, name },
      { type: "merge", body: { status } },
      { subresource: "status" },
    );
  }
}

function templated(metadata: object, added: object = {}): Sandbox["spec"] {
  return {
    operatingMode: "Running",
    shutdownPolicy: "Retain",
    podTemplate: { metadata, spec: { ...secureDefaults, containers: [{ ...container, resources: {}, ...added }] } },
    volumeClaimTemplates,
  };
}

function hashesOf(template: string): Record<string, string> {
  return { [`${group}/sandbox-template-ref-hash`]: nameHash(template) };
}

function condition(type: string, status: string, reason: string, message: string, generation: number | undefined) {
  return { type, status, reason, message, observedGeneration: generation ?? 1, lastTransitionTime: since };
}

/** The NetworkPolicy of a template without rules. */
export function defaultPolicy(templateHash: string): object {
  const privateV4 = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"];
  return {
    podSelector: { matchLabels: { [`${group}/sandbox-template-ref-hash`]: templateHash } },
    policyTypes: ["Ingress", "Egress"],
    ingress: [
      {
        from: [
          {
            namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": systemNamespace } },
            podSelector: { matchLabels: { app: "sandbox-router" } },
          },
        ],
      },
    ],
    egress: [
      {
        to: [
          { ipBlock: { cidr: "0.0.0.0/0", except: privateV4 } },
          { ipBlock: { cidr: "::/0", except: ["fc00::/7", "fe80::/10"] } },
        ],
      },
    ],
  };
}
