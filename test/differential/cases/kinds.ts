/** A kind that both servers serve, with the data for its generated cases. */
export interface KindUnderTest {
  /** The plural name in paths. */
  readonly plural: string;
  /** The prefix of the names of its cases. Default: the plural. */
  readonly title?: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Default: true. */
  readonly namespaced?: boolean;
  /** The fields of a valid object besides apiVersion, kind and metadata. */
  readonly valid: object;
  /** A merge patch with a valid change. */
  readonly change: object;
  /** A valid status. Absent if there is no status subresource. */
  readonly status?: object;
  /** Merge patches that make the valid object invalid, by name. */
  readonly invalid: { readonly [what: string]: object };
}

const container = { name: "main", image: "busybox:1" };
const podSpec = { automountServiceAccountToken: false, containers: [container] };
const podTemplate = { spec: { containers: [container] } };
const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
const rbac = "rbac.authorization.k8s.io/v1";
const extensions = "extensions.agents.x-k8s.io";

const builtin: readonly KindUnderTest[] = [
  {
    plural: "configmaps",
    apiVersion: "v1",
    kind: "ConfigMap",
    valid: { data: { a: "1" }, binaryData: { b: "AAEC" } },
    change: { data: { a: "2" } },
    invalid: {
      "bad key": { data: { "not a key": "x" } },
      "same key twice": { binaryData: { a: "AAEC" } },
      "number as value": { data: { a: 1 } },
      "bad base64": { binaryData: { b: "%%%" } },
      "list as data": { data: ["a"] },
    },
  },
  {
    plural: "secrets",
    apiVersion: "v1",
    kind: "Secret",
    valid: { data: { a: "MQ==" }, stringData: { b: "two" } },
    change: { stringData: { a: "2" } },
    invalid: {
      "bad key": { stringData: { "not a key": "x" } },
      "bad base64": { data: { a: "%%%" } },
      "docker config without it": { type: "kubernetes.io/dockerconfigjson" },
      "tls without it": { type: "kubernetes.io/tls" },
      "token of nobody": { type: "kubernetes.io/service-account-token" },
    },
  },
  {
    plural: "serviceaccounts",
    apiVersion: "v1",
    kind: "ServiceAccount",
    valid: { automountServiceAccountToken: false },
    change: { imagePullSecrets: [{ name: "pull" }] },
    invalid: {
      "text as flag": { automountServiceAccountToken: "no" },
      "object as secrets": { secrets: { name: "x" } },
    },
  },
  {
    plural: "pods",
    apiVersion: "v1",
    kind: "Pod",
    valid: { spec: podSpec },
    change: { spec: { containers: [{ ...container, image: "busybox:2" }], activeDeadlineSeconds: 60 } },
    status: { phase: "Running", podIP: "192.0.2.1", podIPs: [{ ip: "192.0.2.1" }] },
    invalid: {
      "no containers": { spec: { containers: [] } },
      "no spec": { spec: null },
      "no image": { spec: { containers: [{ name: "main" }] } },
      "same name twice": { spec: { containers: [container, container] } },
      "bad container name": { spec: { containers: [{ ...container, name: "Not_A_Name" }] } },
      "bad restart policy": { spec: { restartPolicy: "Sometimes" } },
      "bad DNS policy": { spec: { dnsPolicy: "Nearest" } },
      "no DNS settings": { spec: { dnsPolicy: "None" } },
      "no name servers": { spec: { dnsPolicy: "None", dnsConfig: { searches: ["example.com"] } } },
      "bad alias": { spec: { hostAliases: [{ ip: "x", hostnames: ["a"] }] } },
      "bad readiness gate": { spec: { readinessGates: [{ conditionType: "bad one" }] } },
      "bad spread": {
        spec: { topologySpreadConstraints: [{ maxSkew: 0, topologyKey: "", whenUnsatisfiable: "Perhaps" }] },
      },
      "another port on the host": {
        spec: { hostNetwork: true, containers: [{ ...container, ports: [{ containerPort: 80, hostPort: 81 }] }] },
      },
      "overhead of its own": { spec: { overhead: { cpu: "1" } } },
      "negative grace": { spec: { terminationGracePeriodSeconds: -1 } },
      "zero deadline": { spec: { activeDeadlineSeconds: 0 } },
      "bad quantity": { spec: { containers: [{ ...container, resources: { limits: { cpu: "much" } } }] } },
      "request over limit": {
        spec: { containers: [{ ...container, resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } }] },
      },
      "negative memory": { spec: { containers: [{ ...container, resources: { limits: { memory: "-1" } } }] } },
      "bad port": { spec: { containers: [{ ...container, ports: [{ containerPort: 70_000 }] }] } },
      "bad protocol": { spec: { containers: [{ ...container, ports: [{ containerPort: 80, protocol: "ICMP" }] }] } },
      "bad pull policy": { spec: { containers: [{ ...container, imagePullPolicy: "Maybe" }] } },
      "bad variable name": { spec: { containers: [{ ...container, env: [{ name: "1=2", value: "x" }] }] } },
      "variable from two places": {
        spec: {
          containers: [
            { ...container, env: [{ name: "A", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] },
          ],
        },
      },
      "mount of no volume": {
        spec: { containers: [{ ...container, volumeMounts: [{ name: "v", mountPath: "/v" }] }] },
      },
      "two mounts in one place": {
        spec: {
          volumes: [{ name: "v", emptyDir: {} }],
          containers: [
            {
              ...container,
              volumeMounts: [
                { name: "v", mountPath: "/v" },
                { name: "v", mountPath: "/v" },
              ],
            },
          ],
        },
      },
      "volume of nothing known": { spec: { volumes: [{ name: "v", emptyDir: {}, hostPath: { path: "/" } }] } },
      "same volume twice": {
        spec: {
          volumes: [
            { name: "v", emptyDir: {} },
            { name: "v", emptyDir: {} },
          ],
        },
      },
      "probe of nothing": { spec: { containers: [{ ...container, livenessProbe: { periodSeconds: 1 } }] } },
      "probe of two things": {
        spec: {
          containers: [{ ...container, livenessProbe: { exec: { command: ["true"] }, tcpSocket: { port: 80 } } }],
        },
      },
      "negative period": {
        spec: { containers: [{ ...container, livenessProbe: { exec: { command: ["true"] }, periodSeconds: -1 } }] },
      },
      "bad toleration": { spec: { tolerations: [{ operator: "Exists", value: "x", key: "a" }] } },
      "bad node selector": { spec: { nodeSelector: { "a b": "c" } } },
      "bad host name": { spec: { hostname: "Not_A_Name" } },
      "runtime class that is not there": { spec: { runtimeClassName: "missing" } },
      "priority class that is not there": { spec: { priorityClassName: "missing" } },
      "account that is not there": { spec: { serviceAccountName: "missing" } },
      "text as list": { spec: { containers: "main" } },
    },
  },
  {
    plural: "services",
    apiVersion: "v1",
    kind: "Service",
    valid: { spec: { selector: { app: "x" }, ports: [{ port: 80 }] } },
    change: { spec: { selector: { app: "y" }, sessionAffinity: "ClientIP" } },
    status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
    invalid: {
      "no ports": { spec: { ports: [] } },
      "bad port": { spec: { ports: [{ port: 0 }] } },
      "ports without names": { spec: { ports: [{ port: 80 }, { port: 81 }] } },
      "same port twice": {
        spec: {
          ports: [
            { name: "a", port: 80 },
            { name: "b", port: 80 },
          ],
        },
      },
      "bad protocol": { spec: { ports: [{ port: 80, protocol: "ICMP" }] } },
      "bad type": { spec: { type: "Magic" } },
      "external without name": { spec: { type: "ExternalName" } },
      "headless load balancer": { spec: { type: "LoadBalancer", clusterIP: "None" } },
      "bad address": { spec: { clusterIP: "10.0.0" } },
      "address of another network": { spec: { clusterIP: "192.0.2.1" } },
      "bad affinity": { spec: { sessionAffinity: "Forever" } },
      "bad selector": { spec: { selector: { "a b": "c" } } },
    },
  },
  {
    plural: "endpoints",
    apiVersion: "v1",
    kind: "Endpoints",
    valid: { subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 80 }] }] },
    change: { subsets: [{ addresses: [{ ip: "192.0.2.2" }], ports: [{ port: 80 }] }] },
    invalid: {
      "no address": { subsets: [{ ports: [{ port: 80 }] }] },
      "bad address": { subsets: [{ addresses: [{ ip: "somewhere" }], ports: [{ port: 80 }] }] },
    },
  },
  {
    plural: "persistentvolumeclaims",
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    valid: { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
    change: { metadata: { annotations: { changed: "yes" } } },
    status: { phase: "Lost" },
    invalid: {
      "no modes": { spec: { accessModes: [] } },
      "bad mode": { spec: { accessModes: ["Sometimes"] } },
      "no size": { spec: { resources: { requests: null } } },
      "zero size": { spec: { resources: { requests: { storage: "0" } } } },
      "bad size": { spec: { resources: { requests: { storage: "big" } } } },
      "bad class": { spec: { storageClassName: "Not A Name" } },
      "bad volume mode": { spec: { volumeMode: "Tape" } },
    },
  },
  {
    plural: "persistentvolumes",
    apiVersion: "v1",
    kind: "PersistentVolume",
    namespaced: false,
    valid: { spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, hostPath: { path: "/x" } } },
    change: { spec: { persistentVolumeReclaimPolicy: "Delete" } },
    status: { phase: "Available" },
    invalid: {
      "no source": { spec: { hostPath: null } },
      "no capacity": { spec: { capacity: null } },
      "bad policy": { spec: { persistentVolumeReclaimPolicy: "Forget" } },
    },
  },
  {
    plural: "namespaces",
    apiVersion: "v1",
    kind: "Namespace",
    namespaced: false,
    valid: {},
    change: { metadata: { annotations: { changed: "yes" } } },
    status: { phase: "Active" },
    invalid: { "text as finalizers": { spec: { finalizers: "kubernetes" } } },
  },
  {
    plural: "nodes",
    apiVersion: "v1",
    kind: "Node",
    namespaced: false,
    valid: { spec: { unschedulable: true } },
    change: { spec: { unschedulable: false, providerID: "box://1" } },
    status: { capacity: { cpu: "1" }, allocatable: { cpu: "1" } },
    invalid: { "bad taint": { spec: { taints: [{ key: "a", effect: "Never" }] } } },
  },
  {
    plural: "events",
    apiVersion: "v1",
    kind: "Event",
    valid: {
      involvedObject: { apiVersion: "v1", kind: "Pod", name: "x", namespace: "{{ns}}" },
      reason: "Tested",
      message: "It was tested",
      type: "Normal",
      count: 1,
      firstTimestamp: "2024-01-01T00:00:00Z",
      lastTimestamp: "2024-01-01T00:00:00Z",
      source: { component: "test" },
    },
    change: { count: 2 },
    invalid: {
      "no object": { involvedObject: null },
      "object elsewhere": { involvedObject: { namespace: "elsewhere" } },
    },
  },
  {
    title: "newer events",
    plural: "events",
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    valid: {
      regarding: { apiVersion: "v1", kind: "Pod", name: "x", namespace: "{{ns}}" },
      reason: "Tested",
      note: "It was tested",
      type: "Normal",
      action: "Test",
      eventTime: "2024-01-01T00:00:00.000001Z",
      reportingController: "example.com/test",
      reportingInstance: "here",
    },
    change: { series: { count: 2, lastObservedTime: "2024-01-01T00:00:00.000002Z" } },
    invalid: {
      "no object": { regarding: null },
      "no time": { eventTime: null },
      "no reporter": { reportingController: null },
      "bad reporter": { reportingController: "not a name" },
      "no instance": { reportingInstance: null },
      "no action": { action: null },
      "no reason": { reason: null },
      "bad type": { type: "Odd" },
      "old times": {
        deprecatedFirstTimestamp: "2024-01-01T00:00:00Z",
        deprecatedLastTimestamp: "2024-01-01T00:00:00Z",
      },
      "old count": { deprecatedCount: 3 },
      "old source": { deprecatedSource: { component: "test" } },
      "short series": { series: { count: 1, lastObservedTime: "2024-01-01T00:00:00.000002Z" } },
      "series without a time": { series: { count: 2 } },
      "long note": { note: "n".repeat(1025) },
    },
  },
  {
    plural: "leases",
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    valid: { spec: { holderIdentity: "a", leaseDurationSeconds: 15, renewTime: "2024-01-01T00:00:00.000000Z" } },
    change: { spec: { holderIdentity: "b", leaseTransitions: 1 } },
    invalid: {
      "zero duration": { spec: { leaseDurationSeconds: 0 } },
      "negative transitions": { spec: { leaseTransitions: -1 } },
      "bad time": { spec: { renewTime: "yesterday" } },
    },
  },
  {
    plural: "networkpolicies",
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    valid: { spec: { podSelector: { matchLabels: { app: "x" } }, ingress: [{ ports: [{ port: 80 }] }] } },
    change: { spec: { policyTypes: ["Ingress", "Egress"] } },
    invalid: {
      "bad type": { spec: { policyTypes: ["Sideways"] } },
      "bad port": { spec: { ingress: [{ ports: [{ port: 70_000 }] }] } },
      "bad block": { spec: { ingress: [{ from: [{ ipBlock: { cidr: "everywhere" } }] }] } },
      "empty peer": { spec: { ingress: [{ from: [{}] }] } },
      "end before its port": { spec: { ingress: [{ ports: [{ port: 8000, endPort: 10 }] }] } },
      "end of a named port": { spec: { ingress: [{ ports: [{ port: "web", endPort: 10 }] }] } },
      "exception outside the block": {
        spec: { ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["192.168.0.0/16"] } }] }] },
      },
      "bad selector": { spec: { podSelector: { matchExpressions: [{ key: "a", operator: "Near" }] } } },
    },
  },
  {
    plural: "endpointslices",
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    valid: { addressType: "IPv4", endpoints: [{ addresses: ["192.0.2.1"] }], ports: [{ port: 80 }] },
    change: { endpoints: [{ addresses: ["192.0.2.2"] }] },
    invalid: {
      "bad type": { addressType: "Carrier" },
      "bad address": { endpoints: [{ addresses: ["somewhere"] }] },
    },
  },
  {
    plural: "roles",
    apiVersion: rbac,
    kind: "Role",
    valid: { rules },
    change: { rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["list"] }] },
    invalid: {
      "no verbs": { rules: [{ apiGroups: [""], resources: ["pods"] }] },
      "no resources": { rules: [{ apiGroups: [""], verbs: ["get"] }] },
      "URLs in a namespace": { rules: [{ nonResourceURLs: ["/x"], verbs: ["get"] }] },
    },
  },
  {
    plural: "rolebindings",
    apiVersion: rbac,
    kind: "RoleBinding",
    valid: {
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
      subjects: [{ kind: "User", name: "u" }],
    },
    change: { subjects: [{ kind: "Group", name: "g" }] },
    invalid: {
      "no role": { roleRef: null },
      "bad role kind": { roleRef: { kind: "Pod" } },
      "bad subject": { subjects: [{ kind: "Robot", name: "r" }] },
      "account without namespace": { subjects: [{ kind: "ServiceAccount", name: "a" }] },
    },
  },
  {
    plural: "clusterroles",
    apiVersion: rbac,
    kind: "ClusterRole",
    namespaced: false,
    valid: { rules },
    change: { rules: [{ nonResourceURLs: ["/healthz"], verbs: ["get"] }] },
    invalid: {
      "no verbs": { rules: [{ apiGroups: [""], resources: ["pods"] }] },
      "URLs and resources": { rules: [{ nonResourceURLs: ["/x"], resources: ["pods"], verbs: ["get"] }] },
    },
  },
  {
    plural: "clusterrolebindings",
    apiVersion: rbac,
    kind: "ClusterRoleBinding",
    namespaced: false,
    valid: {
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "User", name: "u" }],
    },
    change: { subjects: [{ kind: "Group", name: "g" }] },
    invalid: { "role of a namespace": { roleRef: { kind: "Role" } } },
  },
  {
    plural: "runtimeclasses",
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    namespaced: false,
    valid: { handler: "runc" },
    change: { scheduling: { nodeSelector: { a: "b" } } },
    invalid: { "no handler": { handler: null }, "bad handler": { handler: "Not A Handler" } },
  },
  {
    plural: "priorityclasses",
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    namespaced: false,
    valid: { value: 10 },
    change: { description: "changed" },
    invalid: {
      "too high": { value: 2_000_000_000 },
      "bad policy": { preemptionPolicy: "Politely" },
      "text as value": { value: "ten" },
    },
  },
  {
    plural: "storageclasses",
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    namespaced: false,
    valid: { provisioner: "example.com/disk" },
    change: { allowVolumeExpansion: true },
    invalid: { "no provisioner": { provisioner: null }, "bad mode": { volumeBindingMode: "Later" } },
  },
];

const ours: readonly KindUnderTest[] = [
  {
    plural: "sandboxes",
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    valid: { spec: { podTemplate } },
    change: { spec: { operatingMode: "Suspended" } },
    status: {
      service: "s",
      conditions: [
        { type: "Ready", status: "True", reason: "Up", message: "", lastTransitionTime: "2024-01-01T00:00:00Z" },
      ],
    },
    invalid: {
      "no spec": { spec: null },
      "no template": { spec: { podTemplate: null } },
      "no containers": { spec: { podTemplate: { spec: { containers: null } } } },
      "bad mode": { spec: { operatingMode: "Sleeping" } },
      "bad time": { spec: { shutdownTime: "tomorrow" } },
      "bad policy": { spec: { shutdownPolicy: "Forget" } },
      "short idle time": { spec: { idlePolicy: { suspendAfterSeconds: 1 } } },
      "number as text": { spec: { operatingMode: 7 } },
      "text as flag": { spec: { service: "yes" } },
      "fraction as integer": { spec: { idlePolicy: { suspendAfterSeconds: 10.5 } } },
      "object as list": { spec: { podTemplate: { spec: { containers: {} } } } },
      "bad status": { status: { conditions: [{ type: "Ready" }] } },
    },
  },
  {
    plural: "sandboxtemplates",
    apiVersion: `${extensions}/v1beta1`,
    kind: "SandboxTemplate",
    valid: { spec: { podTemplate } },
    change: { spec: { envVarsInjectionPolicy: "Allowed" } },
    invalid: {
      "no spec": { spec: null },
      "bad management": { spec: { networkPolicyManagement: "Partly" } },
      "bad injection": { spec: { envVarsInjectionPolicy: "Maybe" } },
      "list as spec": { spec: [] },
    },
  },
  {
    plural: "sandboxclaims",
    apiVersion: `${extensions}/v1beta1`,
    kind: "SandboxClaim",
    valid: { spec: { warmPoolRef: { name: "pool" } } },
    change: { spec: { env: [{ name: "A", value: "1" }] } },
    status: { sandbox: { name: "s" } },
    invalid: {
      "no pool": { spec: { warmPoolRef: null } },
      "pool without name": { spec: { warmPoolRef: { name: null } } },
      "number as name": { spec: { warmPoolRef: { name: 1 } } },
      "bad lifecycle": { spec: { lifecycle: { shutdownTime: 1 } } },
    },
  },
  {
    plural: "sandboxwarmpools",
    apiVersion: `${extensions}/v1beta1`,
    kind: "SandboxWarmPool",
    valid: { spec: { sandboxTemplateRef: { name: "template" } } },
    change: { spec: { replicas: 3 } },
    status: { replicas: 2, readyReplicas: 1, selector: "a=b" },
    invalid: {
      "no template": { spec: { sandboxTemplateRef: null } },
      "negative size": { spec: { replicas: -1 } },
      "text as size": { spec: { replicas: "three" } },
      "too large a size": { spec: { replicas: 3_000_000_000 } },
      "bad strategy": { spec: { updateStrategy: { type: "Never" } } },
    },
  },
  {
    plural: "sandboxsnapshots",
    apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
    kind: "SandboxSnapshot",
    valid: { spec: { sandboxRef: { name: "s" } } },
    change: { spec: { deletionPolicy: "Retain" } },
    status: { depth: "Memory", sizeBytes: 1 },
    invalid: {
      "no source": { spec: { sandboxRef: null } },
      "two sources": { spec: { claimRef: { name: "c" } } },
      "bad depth": { spec: { depth: "Volumes" } },
      "no time to live": { spec: { ttlSecondsAfterCreation: 0 } },
    },
  },
  {
    plural: "sandboxes",
    title: "sandboxes alpha",
    apiVersion: "agents.x-k8s.io/v1alpha1",
    kind: "Sandbox",
    valid: { spec: { podTemplate, replicas: 0 } },
    change: { spec: { replicas: 1 } },
    status: { replicas: 1 },
    invalid: { "too many": { spec: { replicas: 2 } }, "no template": { spec: { podTemplate: null } } },
  },
];

export const kindsUnderTest: readonly KindUnderTest[] = [...builtin, ...ours];
