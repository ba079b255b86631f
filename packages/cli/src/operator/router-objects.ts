import { labelsOf, type OperatorObject, roleFor } from "./manifest.ts";
import { containerSecurity, ingressOnly, lifecycle, podSecurity, probesOf, spreadOf } from "./pod-defaults.ts";
import { routerRules, routerRuntimeRules } from "./router-rules.ts";
import { type OperatorSettings, priorityClass, routerKeysSecret, routerName, routerService } from "./settings.ts";

const ports = { http: 8080, probes: 8081, metrics: 9090 } as const;
const labels = labelsOf(routerName);
const selector = { app: routerName };
const nodeFlags = ["--enable-source-maps", "--disable-warning=ExperimentalWarning"];
const keysFolder = "/etc/sandbox-router/keys";

/** The router, which needs the Secret with its key. `kubectl apply` keeps the number of replicas that the autoscaler set. */
export function routerObjects(settings: OperatorSettings): OperatorObject[] {
  const { namespace } = settings;
  const metadata = { name: routerName, namespace, labels };
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    ...roleFor({ name: routerName, namespace }, { name: routerName, app: routerName, rules: routerRules }),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { ...metadata, name: routerService },
      spec: {
        type: "ClusterIP",
        selector,
        ports: [
          { name: "http", port: ports.http, targetPort: "http" },
          { name: "metrics", port: ports.metrics, targetPort: "metrics" },
        ],
      },
    } as OperatorObject,
    routerDeployment(settings),
    {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata,
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: routerName },
        minReplicas: 2,
        maxReplicas: 10,
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } } },
        ],
        // A removed replica ends its WebSockets and tunnels, so the number goes down slowly.
        behavior: {
          scaleDown: { stabilizationWindowSeconds: 600, policies: [{ type: "Pods", value: 1, periodSeconds: 60 }] },
        },
      },
    } as OperatorObject,
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
      spec: ingressOnly(routerName, Object.values(ports)),
    } as OperatorObject,
  ];
}

/** Lets the router read the tokens of Sandboxes with `runtime: Injected`. */
export function routerRuntimeRbac({ namespace }: Pick<OperatorSettings, "namespace">): OperatorObject[] {
  const role = { name: `${routerName}-runtime`, app: routerName, rules: routerRuntimeRules };
  return roleFor({ name: routerName, namespace }, role);
}

function routerDeployment({ namespace, image, pullPolicy }: OperatorSettings): OperatorObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: routerName, namespace, labels },
    spec: {
      selector: { matchLabels: selector },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: routerName,
          priorityClassName: priorityClass,
          // 5 s until Services know that it ends, 30 s for requests in progress, and a reserve.
          terminationGracePeriodSeconds: 45,
          securityContext: podSecurity,
          topologySpreadConstraints: spreadOf(routerName),
          containers: [
            {
              name: "router",
              image,
              imagePullPolicy: pullPolicy,
              // The router keeps few objects alive: a small young generation saves memory when many clients stall.
              command: ["/app/node", "--max-semi-space-size=8", ...nodeFlags, "/app/lib/main.mjs", "router"],
              args: [`--authz-scoped-token-secret-file=${keysFolder}/key`],
              env: [{ name: "MALLOC_ARENA_MAX", value: "1" }],
              ports: Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort })),
              ...probesOf("probes"),
              lifecycle,
              resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "1Gi" } },
              securityContext: containerSecurity,
              volumeMounts: [{ name: "keys", mountPath: keysFolder, readOnly: true }],
            },
          ],
          volumes: [{ name: "keys", secret: { secretName: routerKeysSecret, defaultMode: 0o440 } }],
        },
      },
    },
  } as OperatorObject;
}
