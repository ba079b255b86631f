import type { Case, KubectlStep, Step } from "../case.ts";
import { everything, given, run } from "./kubectl-steps.ts";
import { configMap, together } from "./manifests.ts";

const all = given(everything);
const kinds = "cm/a,pod/b,svc/c,sandbox/d,sandboxtemplate/e,sandboxwarmpool/f,sandboxclaim/g".split(",");
const seven = (...format: string[]): KubectlStep => ({ kubectl: ["get", ...kinds, ...format] });

const status = (kind: string, name: string, value: object): Step => ({
  method: "PATCH",
  path: `${kind}/${name}/status`,
  headers: { "content-type": "application/merge-patch+json" },
  body: { status: value },
});
const ready = (state: string, reason: string): object => ({
  conditions: [
    { type: "Ready", status: state, reason, message: "It is so", lastTransitionTime: "2024-01-01T00:00:00Z" },
  ],
});
const sandboxes = "/apis/agents.x-k8s.io/v1beta1/namespaces/{{ns}}/sandboxes";
const pods = "/api/v1/namespaces/{{ns}}/pods";

const getting: readonly Case[] = [
  {
    name: "kubectl get",
    newOnly: true,
    steps: [
      all,
      seven(),
      run("get sandbox"),
      run("get all"),
      run("get pods nosuch"),
      run("get nosuch"),
      run("get sandbox d nosuch"),
    ],
  },
  {
    name: "kubectl get wide",
    newOnly: true,
    steps: [all, seven("-o", "wide"), run("get po,svc,sandbox -o wide --show-labels"), run("get po --no-headers")],
  },
  { name: "kubectl get yaml", newOnly: true, steps: [all, seven("-o", "yaml")] },
  { name: "kubectl get json", newOnly: true, steps: [all, seven("-o", "json"), run("get sandbox -o json")] },
  {
    name: "kubectl get names",
    newOnly: true,
    steps: [all, seven("-o", "name"), run("get sandboxwarmpools -o name")],
  },
  {
    name: "kubectl get columns",
    newOnly: true,
    steps: [
      all,
      {
        kubectl: ["get", "sandbox,pod", "-o", "custom-columns=NAME:.metadata.name,KIND:.kind,MODE:.spec.operatingMode"],
      },
      {
        kubectl: [
          "get",
          "sandbox",
          "-o",
          "jsonpath={range .items[*]}{.metadata.name} {.spec.shutdownPolicy}{'\\n'}{end}",
        ],
      },
      {
        kubectl: [
          "get",
          "sandbox",
          "-o",
          "go-template={{range .items}}{{.metadata.name}} {{.spec.operatingMode}}{{ end }}",
        ],
      },
      run("get pod b -o jsonpath={.status.qosClass}/{.spec.dnsPolicy}/{.status.phase}"),
      run("get sandbox --sort-by=.metadata.name -o name"),
    ],
  },
  {
    name: "kubectl get by selector",
    newOnly: true,
    steps: [
      all,
      run("get pods -l app=demo -o name"),
      { kubectl: ["get", "pods", "-l", "app in (demo,other),!missing", "-o", "name"] },
      { kubectl: ["get", "pods", "-l", "app notin (demo)", "-o", "name"] },
      run("get pods --field-selector=status.phase=Pending -o name"),
      run("get pods --field-selector=status.phase!=Pending -o name"),
      run("get pods --field-selector=spec.nosuch=x -o name"),
      run("get sandbox --field-selector=metadata.name=d -o name"),
      run("get sandbox --field-selector=spec.operatingMode=Running -o name"),
      { kubectl: ["get", "pods", "-l", "app==demo,,", "-o", "name"] },
      run("get cm --field-selector=metadata.namespace={{ns}},metadata.name=a -o name"),
    ],
  },
  {
    name: "kubectl get in chunks",
    newOnly: true,
    steps: [
      given(together(...["p", "q", "r", "s", "t"].map((name) => configMap(name)))),
      run("get cm --chunk-size=2 -o name"),
      run("get cm --chunk-size=2"),
      run("get cm --chunk-size=0 -o name"),
    ],
  },
  {
    name: "kubectl get a sandbox with a status",
    newOnly: true,
    steps: [
      all,
      status(sandboxes, "d", ready("True", "Up")),
      run("get sandbox"),
      run("get sandbox -o wide"),
      status("/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/{{ns}}/sandboxwarmpools", "f", {
        replicas: 2,
        readyReplicas: 1,
      }),
      run("get sandboxwarmpool"),
      run("get sandboxclaim -o wide"),
    ],
  },
  {
    name: "kubectl get a pod with a status",
    steps: [
      all,
      status(pods, "b", {
        phase: "Running",
        podIP: "192.0.2.1",
        podIPs: [{ ip: "192.0.2.1" }],
        containerStatuses: [
          {
            name: "main",
            ready: true,
            restartCount: 3,
            image: "busybox:1",
            imageID: "x",
            state: { running: { startedAt: "2024-01-01T00:00:00Z" } },
          },
        ],
        conditions: [{ type: "Ready", status: "True" }],
      }),
      run("get pod"),
      run("get pod -o wide"),
      run("describe pod b"),
      status(pods, "b", {
        containerStatuses: [
          {
            name: "main",
            ready: false,
            restartCount: 4,
            image: "busybox:1",
            imageID: "x",
            state: { waiting: { reason: "CrashLoopBackOff" } },
          },
        ],
      }),
      run("get pod"),
      status(pods, "b", {
        phase: "Failed",
        reason: "Evicted",
        containerStatuses: [
          {
            name: "main",
            ready: false,
            restartCount: 4,
            image: "busybox:1",
            imageID: "x",
            state: { terminated: { exitCode: 137, reason: "OOMKilled" } },
          },
        ],
      }),
      run("get pod"),
    ],
  },
];

const watching: readonly Case[] = [
  {
    name: "kubectl get and watch",
    newOnly: true,
    steps: [
      all,
      {
        kubectl: ["get", "sandbox", "-w", "--output-watch-events"],
        until: {
          lines: 5,
          meanwhile: [
            status(sandboxes, "d", ready("False", "Starting")),
            status(sandboxes, "d", ready("True", "Up")),
            { method: "DELETE", path: `${sandboxes}/d` },
          ],
        },
      },
    ],
  },
  {
    name: "kubectl get and watch pods",
    newOnly: true,
    steps: [
      all,
      {
        kubectl: ["get", "pods", "-w"],
        until: { lines: 3, meanwhile: [status(pods, "b", { phase: "Running" })] },
      },
    ],
  },
  {
    name: "kubectl wait",
    steps: [
      all,
      status(sandboxes, "d", ready("True", "Up")),
      run("wait sandbox/d --for=condition=Ready --timeout=10s"),
      run("wait sandbox/d --for=condition=Ready=False --timeout=1s"),
      run("wait sandbox/d --for=jsonpath={.spec.operatingMode}=Running --timeout=10s"),
      run("wait sandbox/d --for=jsonpath={.status.conditions[0].reason}=Down --timeout=1s"),
      run("wait sandbox -l app=demo --for=condition=Ready --timeout=10s"),
      run("wait sandbox/nosuch --for=condition=Ready --timeout=1s"),
      run("wait sandbox/nosuch --for=delete --timeout=1s"),
      run("delete sandbox d --wait=false"),
      run("wait sandbox/d --for=delete --timeout=10s"),
      run("wait pod/b --for=create --timeout=10s"),
    ],
  },
];

const describing: readonly Case[] = [
  {
    name: "kubectl describe",
    steps: [
      all,
      run("describe cm a"),
      run("describe svc c"),
      run("describe sandbox d"),
      run("describe sandboxwarmpool f"),
      run("describe sandboxclaim"),
      run("describe sandbox nosuch"),
      run("describe sa default"),
    ],
  },
  { name: "kubectl describe a pod", steps: [all, run("describe pod b")] },
  {
    name: "kubectl events",
    newOnly: true,
    steps: [
      all,
      ...[
        ["first", "Pulled", "Normal"],
        ["second", "Failed", "Warning"],
      ].map(
        ([name, reason, type]): Step => ({
          method: "POST",
          path: "/api/v1/namespaces/{{ns}}/events",
          body: {
            metadata: { name },
            involvedObject: { apiVersion: "v1", kind: "Pod", name: "b", namespace: "{{ns}}" },
            reason,
            type,
            message: `It was ${reason}`,
            count: 1,
            firstTimestamp: "2024-01-01T00:00:00Z",
            lastTimestamp: "2024-01-01T00:00:00Z",
            source: { component: "test" },
          },
        }),
      ),
      run("events"),
      run("events --for pod/b --types=Warning"),
      run("get events"),
      run("get events -o wide --sort-by=.reason"),
      run("get events --field-selector=involvedObject.name=b,type=Warning -o name"),
      run("get events.events.k8s.io -o name"),
      run("get events.v1.events.k8s.io first -o yaml"),
    ],
  },
  ...[
    "sandbox",
    "sandbox.spec",
    "sandbox.spec.podTemplate.spec.containers",
    "sandboxwarmpool --recursive",
    "pod.spec.containers.livenessProbe",
    "pod.spec",
    "service.spec",
    "networkpolicy.spec",
    "configmap",
    "sandbox.spec.nosuch",
    "nosuch",
    "sandboxes --api-version=agents.x-k8s.io/v1alpha1",
    "pod --output=plaintext-openapiv2",
    "pod --recursive",
    "sandbox --recursive",
    "customresourcedefinition --recursive",
  ].map(
    (what): Case => ({
      name: `kubectl explain ${what.replaceAll(/[^\w ]+/g, " ")}`,
      steps: [run(`explain ${what}`)],
    }),
  ),
];

const discovering: readonly Case[] = [
  ...[
    "agents.x-k8s.io",
    "extensions.agents.x-k8s.io",
    "rbac.authorization.k8s.io",
    "coordination.k8s.io",
    "networking.k8s.io",
    "apiextensions.k8s.io",
    "node.k8s.io",
    "storage.k8s.io",
    "scheduling.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
  ].map(
    (group): Case => ({
      name: `kubectl api-resources of ${group}`,
      newOnly: true,
      steps: [{ ...run(`api-resources --api-group=${group} -o wide --sort-by=name`), byLine: true }],
    }),
  ),
  { name: "kubectl api-resources", steps: [{ ...run("api-resources --sort-by=name"), byLine: true }] },
  { name: "kubectl api-versions", steps: [{ ...run("api-versions"), byLine: true }] },
  { name: "kubectl version", steps: [run("version"), run("version -o json")] },
  {
    name: "kubectl cluster-info",
    newOnly: true,
    steps: [
      run("cluster-info"),
      run("get --raw /readyz"),
      run("get --raw /livez"),
      run("get --raw /nosuch"),
      run("get --raw /version"),
    ],
  },
];

const visitor = (words: string): KubectlStep => ({ kubectl: words.split(" "), as: "visitor" });

const access: readonly Case[] = [
  {
    name: "kubectl auth",
    steps: [
      run("auth can-i create pods"),
      run("auth can-i create nosuch"),
      run("auth can-i get pods --as=someone"),
      run("auth can-i get /healthz --as=someone"),
      run("auth can-i * * --all-namespaces"),
      run("auth whoami"),
      run("auth whoami -o json"),
      run("auth whoami --as=someone --as-group=some -o json"),
    ],
  },
  { name: "kubectl auth list", steps: [run("auth can-i --list --as=someone"), visitor("auth can-i --list")] },
  {
    name: "kubectl as a visitor",
    steps: [
      visitor("get pods"),
      visitor("get nodes"),
      visitor("delete sandbox d"),
      visitor("create configmap c"),
      visitor("auth can-i get pods"),
      visitor("auth whoami"),
      visitor("get pods --as=admin"),
      visitor("get --raw /metrics"),
      run("create rolebinding v --clusterrole=view --user=visitor"),
      visitor("auth can-i get configmaps"),
      visitor("auth can-i get secrets"),
    ],
  },
  {
    name: "kubectl as a stranger",
    newOnly: true,
    steps: [
      { kubectl: ["get", "pods"], as: "stranger" },
      { kubectl: ["get", "pods", "--token=wrong"], as: "stranger" },
      { kubectl: ["get", "pods", "--token=wrong"], as: "nobody" },
    ],
  },
];

export const kubectlReading: readonly Case[] = [...getting, ...watching, ...describing, ...discovering, ...access];
