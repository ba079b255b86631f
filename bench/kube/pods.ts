/** A Pod as in a cluster, with status and managed fields: about 5 KB of JSON. */
export function pod(index: number, resourceVersion: string): object {
  const name = `sandbox-${index.toString(36).padStart(5, "0")}-x7k2p`;
  const namespace = `team-${index % 20}`;
  const time = "2026-03-01T12:00:00Z";
  const labels = {
    app: "sandbox",
    "agents.x-k8s.io/sandbox-name-hash": (index * 2_654_435_761).toString(16).slice(-8),
    "agents.x-k8s.io/warm-pool": `pool-${index % 50}`,
    "pod-template-hash": "6d4b75cb6d",
  };
  return {
    metadata: {
      name,
      generateName: "sandbox-",
      namespace,
      uid: uid(index),
      resourceVersion,
      generation: 1,
      creationTimestamp: time,
      labels,
      annotations: {
        "agents.x-k8s.io/state-epoch": String(index),
        "cni.example.com/networkStatus": JSON.stringify([{ name: "eth0", ips: [ip(index)], default: true }]),
      },
      ownerReferences: [owner(name, index)],
      managedFields: [managed("controller", "Update", labels, ""), managed("kubelet", "Update", {}, "status")],
    },
    spec: {
      volumes: [
        { name: "workspace", persistentVolumeClaim: { claimName: `workspace-${name}` } },
        { name: "tmp", emptyDir: { sizeLimit: "1Gi" } },
      ],
      containers: [container("agent", index), container("sidecar", index)],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      serviceAccountName: "default",
      automountServiceAccountToken: false,
      nodeName: `node-${index % 100}`,
      runtimeClassName: "gvisor",
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        fsGroup: 1000,
        seccompProfile: { type: "RuntimeDefault" },
      },
      schedulerName: "default-scheduler",
      tolerations: ["not-ready", "unreachable"].map((key) => ({
        key: `node.kubernetes.io/${key}`,
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: 300,
      })),
      priority: 0,
      enableServiceLinks: false,
    },
    status: {
      phase: "Running",
      conditions: ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map(
        (type) => ({
          type,
          status: "True",
          lastProbeTime: null,
          lastTransitionTime: time,
        }),
      ),
      hostIP: `10.0.0.${index % 100}`,
      podIP: ip(index),
      podIPs: [{ ip: ip(index) }],
      startTime: time,
      containerStatuses: ["agent", "sidecar"].map((container) => ({
        name: container,
        state: { running: { startedAt: time } },
        lastState: {},
        ready: true,
        restartCount: index % 3,
        image: `registry.example.com/${container}:1.${index % 10}.0`,
        imageID: `registry.example.com/${container}@sha256:${hex(index)}`,
        containerID: `containerd://${hex(index + 1)}`,
        started: true,
      })),
      qosClass: "Burstable",
    },
  };
}

function container(name: string, index: number): object {
  return {
    name,
    image: `registry.example.com/${name}:1.${index % 10}.0`,
    command: ["/bin/agent"],
    args: ["--listen=:8080", `--sandbox=${index}`, "--log-format=json"],
    ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
    env: ["HOME", "LANG", "SANDBOX_ID"].map((variable) => ({
      name: variable,
      value: `${variable.toLowerCase()}-${index}`,
    })),
    resources: { limits: { cpu: "2", memory: "2Gi" }, requests: { cpu: "250m", memory: "256Mi" } },
    volumeMounts: [
      { name: "workspace", mountPath: "/workspace" },
      { name: "tmp", mountPath: "/tmp" },
    ],
    readinessProbe: { httpGet: { path: "/healthz", port: 8080, scheme: "HTTP" }, timeoutSeconds: 1, periodSeconds: 5 },
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: "IfNotPresent",
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  };
}

function managed(manager: string, operation: string, labels: object, subresource: string): object {
  const fields = Object.fromEntries(Object.keys(labels).map((label) => [`f:${label}`, {}]));
  return {
    manager,
    operation,
    apiVersion: "v1",
    time: "2026-03-01T12:00:00Z",
    fieldsType: "FieldsV1",
    fieldsV1: {
      "f:metadata": { "f:labels": { ".": {}, ...fields } },
      "f:spec": { "f:containers": { 'k:{"name":"agent"}': { ".": {}, "f:image": {}, "f:env": {} } } },
    },
    ...(subresource === "" ? {} : { subresource }),
  };
}

function owner(name: string, index: number): object {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    name,
    uid: uid(index + 1),
    controller: true,
    blockOwnerDeletion: true,
  };
}

const hex = (index: number): string => (index * 40_503 + 1).toString(16).padStart(8, "0").repeat(8);
const uid = (index: number): string => `${hex(index).slice(0, 8)}-1111-4222-8333-${hex(index).slice(0, 12)}`;
const ip = (index: number): string => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
