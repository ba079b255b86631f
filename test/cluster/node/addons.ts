import { corednsImage, dnsAddress, metricsServerImage } from "./settings.ts";

/** Objects that other distributions of Kubernetes bring along: DNS, metrics for autoscalers, a class of volumes and the runtimes. */
export const addons = (): object => ({
  apiVersion: "v1",
  kind: "List",
  items: [
    runtimeClass("gvisor", "runsc"),
    runtimeClass("runc", "runc"),
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "standard", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      provisioner: "kubernetes.io/host-path",
    },
    ...coredns(),
    ...metricsServer(),
  ],
});

function runtimeClass(name: string, handler: string): object {
  return { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name }, handler };
}

const namespace = "kube-system";

function account(name: string, ...roles: (readonly [role: string, rules: readonly object[]])[]): object[] {
  const subjects = [{ kind: "ServiceAccount", name, namespace }];
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
    ...roles.flatMap(([role, rules]) => [
      ...(rules.length === 0
        ? []
        : [{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: role }, rules }]),
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: `${name}:${role}` },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
        subjects,
      },
    ]),
  ];
}

const reads = ["get", "list", "watch"];

const restricted = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};

const corefile = `.:5353 {
  errors
  health
  ready
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    pods insecure
    fallthrough in-addr.arpa ip6.arpa
    ttl 1
  }
  reload
}
`;

function coredns(): object[] {
  const labels = { "k8s-app": "kube-dns" };
  const name = "coredns";
  return [
    ...account(name, [
      "system:coredns",
      [
        { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: reads },
        { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: reads },
      ],
    ]),
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { Corefile: corefile } },
    deployment({
      name,
      labels,
      container: {
        image: corednsImage,
        args: ["-conf", "/etc/coredns/Corefile"],
        ports: [
          { containerPort: 5353, name: "dns", protocol: "UDP" },
          { containerPort: 5353, name: "dns-tcp", protocol: "TCP" },
        ],
        readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 1 },
        volumeMounts: [{ name: "config", mountPath: "/etc/coredns", readOnly: true }],
      },
      volumes: [{ name: "config", configMap: { name } }],
    }),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "kube-dns", namespace, labels },
      spec: {
        clusterIP: dnsAddress,
        selector: labels,
        ports: [
          { name: "dns", port: 53, targetPort: 5353, protocol: "UDP" },
          { name: "dns-tcp", port: 53, targetPort: 5353, protocol: "TCP" },
        ],
      },
    },
  ];
}

function metricsServer(): object[] {
  const name = "metrics-server";
  const labels = { "k8s-app": name };
  return [
    ...account(
      name,
      [
        "system:metrics-server",
        [
          { apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] },
          { apiGroups: [""], resources: ["pods", "nodes"], verbs: reads },
        ],
      ],
      ["system:auth-delegator", []],
    ),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "metrics-server-auth-reader", namespace },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "Role",
        name: "extension-apiserver-authentication-reader",
      },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: {
        name: "system:aggregated-metrics-reader",
        labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" },
      },
      rules: [{ apiGroups: ["metrics.k8s.io"], resources: ["pods", "nodes"], verbs: reads }],
    },
    deployment({
      name,
      labels,
      container: {
        image: metricsServerImage,
        args: [
          "--secure-port=10250",
          "--cert-dir=/tmp",
          // The kubelet's certificate is its own.
          "--kubelet-insecure-tls",
          "--kubelet-preferred-address-types=InternalIP",
          // The shortest that metrics-server accepts. Requests must be shorter.
          "--metric-resolution=10s",
          "--kubelet-request-timeout=5s",
        ],
        ports: [{ containerPort: 10250, name: "https" }],
        readinessProbe: { httpGet: { path: "/readyz", port: "https", scheme: "HTTPS" }, periodSeconds: 2 },
        volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
      },
      volumes: [{ name: "tmp", emptyDir: {} }],
    }),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace, labels },
      spec: { selector: labels, ports: [{ name: "https", port: 443, targetPort: "https" }] },
    },
    {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1beta1.metrics.k8s.io" },
      spec: {
        group: "metrics.k8s.io",
        version: "v1beta1",
        service: { name, namespace },
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    },
  ];
}

interface AddonDeployment {
  readonly name: string;
  readonly labels: { readonly [name: string]: string };
  readonly container: object;
  readonly volumes: readonly object[];
}

function deployment({ name, labels, container, volumes }: AddonDeployment): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: name,
          priorityClassName: "system-cluster-critical",
          // The node's DNS, because CoreDNS cannot ask itself.
          dnsPolicy: "Default",
          containers: [{ name, imagePullPolicy: "Never", securityContext: restricted, ...container }],
          volumes,
        },
      },
    },
  };
}
