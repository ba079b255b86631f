import { clusterRules, extensionRules, homeRules, sandboxRules } from "./manager-rules.ts";
import { labelsOf, type OperatorObject, partOf, roleFor } from "./manifest.ts";
import { containerSecurity, ingressOnly, lifecycle, podSecurity, probesOf, spreadOf } from "./pod-defaults.ts";
import { priorityObjects } from "./priority-objects.ts";
import { extensionsName, managerName, type OperatorSettings, priorityClass, webhookService } from "./settings.ts";

const ports = { metrics: 8080, healthz: 8081, webhook: 9443 } as const;
const labels = labelsOf(managerName);
const selector = { app: managerName };

/**
 * Our Pods satisfy the Pod Security Standard "restricted". It is not enforced: the label would remain when another implementation takes
 * over the namespace, and the Pods of the reference implementation have no securityContext.
 */
export function namespaceObject({ namespace }: Pick<OperatorSettings, "namespace">): OperatorObject {
  const levels = { "pod-security.kubernetes.io/warn": "restricted", "pod-security.kubernetes.io/audit": "restricted" };
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: { ...partOf, ...levels } } };
}

/** The manager without its Deployment, which depends on whether the extensions are installed. */
export function managerBase(settings: OperatorSettings): OperatorObject[] {
  const { namespace } = settings;
  const account = { name: managerName, namespace };
  const metadata = { name: managerName, namespace, labels };
  return [
    ...priorityObjects(settings),
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    ...roleFor(account, { name: managerName, app: managerName, namespace, rules: homeRules }),
    ...roleFor(account, { name: managerName, app: managerName, rules: [...sandboxRules, ...clusterRules] }),
    service(metadata, [{ name: "metrics", port: ports.metrics, targetPort: "metrics" }]),
    service({ ...metadata, name: webhookService }, [{ name: "webhook", port: 443, targetPort: "webhook" }]),
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata,
      spec: { maxUnavailable: 1, selector: { matchLabels: selector } },
    } as OperatorObject,
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata,
      spec: ingressOnly(managerName, Object.values(ports)),
    } as OperatorObject,
  ];
}

function service(metadata: OperatorObject["metadata"], exposed: readonly object[]): OperatorObject {
  return { apiVersion: "v1", kind: "Service", metadata, spec: { selector, ports: exposed } } as OperatorObject;
}

/** What templates, pools and claims need besides the Deployment with `--extensions`. */
export function extensionsRbac({ namespace }: Pick<OperatorSettings, "namespace">): OperatorObject[] {
  return roleFor({ name: managerName, namespace }, { name: extensionsName, app: managerName, rules: extensionRules });
}

/** For one namespace of `--watch-namespaces`, instead of the cluster roles. */
export function namespaceRbac({ namespace }: Pick<OperatorSettings, "namespace">): OperatorObject[] {
  const rules = [...sandboxRules, ...extensionRules];
  return roleFor({ name: managerName, namespace }, { name: managerName, app: managerName, namespace: "", rules });
}

export function managerDeployment(settings: OperatorSettings): OperatorObject {
  const { namespace, replicas, extensions } = settings;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: managerName, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: selector },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: managerName,
          priorityClassName: priorityClass,
          terminationGracePeriodSeconds: 30,
          securityContext: podSecurity,
          topologySpreadConstraints: spreadOf(managerName),
          containers: [managerContainer(settings)],
          volumes: [
            ...(extensions ? [{ name: "config", configMap: { name: "agent-sandbox-config", optional: true } }] : []),
            { name: "tmp", emptyDir: { medium: "Memory", sizeLimit: "16Mi" } },
          ],
        },
      },
    },
  } as OperatorObject;
}

function managerContainer(settings: OperatorSettings): object {
  const { image, pullPolicy, extensions } = settings;
  return {
    name: managerName,
    image,
    imagePullPolicy: pullPolicy,
    args: managerFlags(settings),
    ports: Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort })),
    ...probesOf("healthz"),
    lifecycle,
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "1Gi" } },
    securityContext: containerSecurity,
    volumeMounts: [
      ...(extensions ? [{ name: "config", mountPath: "/etc/sandbox-config", readOnly: true }] : []),
      // The reference implementation writes its certificate there. It may take over this Deployment, whose root file system is read-only.
      { name: "tmp", mountPath: "/tmp" },
    ],
  };
}

function managerFlags({ namespace, extensions, runtimeImage, pullPolicy, clusterDomain }: OperatorSettings): string[] {
  return [
    "--leader-elect=true",
    ...(extensions ? ["--extensions"] : []),
    `--runtime-image=${runtimeImage}`,
    `--runtime-image-pull-policy=${pullPolicy}`,
    `--webhook-namespace=${namespace}`,
    `--router-namespace=${namespace}`,
    ...(clusterDomain === "cluster.local" ? [] : [`--cluster-domain=${clusterDomain}`]),
  ];
}
