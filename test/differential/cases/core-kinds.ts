import type { KindUnderTest } from "./kind-under-test.ts";

const container = { name: "main", image: "busybox:1" };
const podSpec = { automountServiceAccountToken: false, containers: [container] };

/** The kinds of the API group v1. */
export const coreKinds: readonly KindUnderTest[] = [
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
];
