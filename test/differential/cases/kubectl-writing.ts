import type { Case } from "../case.ts";
import { create, everything, given, patch, run } from "./kubectl-steps.ts";
import { claim, configMap, pod, sandbox, service, together, warmPool } from "./manifests.ts";

const applying: readonly Case[] = [
  {
    name: "kubectl apply",
    steps: [
      run("apply -f -", everything),
      run("apply -f -", everything),
      run(
        "apply -f -",
        together(
          configMap("a", "2"),
          pod("b", "  activeDeadlineSeconds: 9"),
          sandbox("d", "  operatingMode: Suspended"),
        ),
      ),
      run("get cm,pod,svc,sandbox,sandboxtemplate,sandboxwarmpool,sandboxclaim -l app=demo -o json"),
      run("apply view-last-applied configmap a"),
    ],
  },
  {
    name: "kubectl apply on the server",
    steps: [
      run("apply --server-side -f -", everything),
      run("apply --server-side -f -", everything),
      run("apply --server-side --field-manager=other -f -", configMap("a", "2")),
      run("apply --server-side --field-manager=other --force-conflicts -f -", configMap("a", "2")),
      run("apply --server-side -f -", sandbox("d", "  operatingMode: Suspended")),
      run("get sandbox d -o jsonpath={.spec}"),
    ],
  },
  {
    name: "kubectl apply on the server, owners",
    newOnly: true,
    managedFields: true,
    steps: [
      run("apply --server-side -f -", together(configMap("a"), sandbox("d"))),
      run("get cm,sandbox -l app=demo --show-managed-fields -o json"),
    ],
  },
  {
    name: "kubectl apply moves to the server",
    steps: [
      run("apply -f -", configMap("a")),
      run("apply --server-side -f -", configMap("a", "2")),
      run("get cm a -o yaml"),
    ],
  },
  {
    name: "kubectl apply and prune",
    steps: [
      run("apply -f -", together(configMap("a"), configMap("b"))),
      run("apply --prune -l app=demo --prune-allowlist=core/v1/ConfigMap -f -", configMap("a")),
    ],
  },
  {
    name: "kubectl apply without effect",
    steps: [
      run("apply --dry-run=server -f -", together(configMap("a"), sandbox("d"))),
      run("apply --dry-run=client -f -", configMap("a")),
      run("get cm,sandbox -l app=demo"),
      run("create --dry-run=server -o yaml -f -", sandbox("d")),
    ],
  },
  {
    name: "kubectl diff",
    steps: [
      run("apply -f -", together(configMap("a"), sandbox("d"))),
      run("diff -f -", together(configMap("a"), sandbox("d"))),
      run("diff -f -", together(configMap("a", "2"), sandbox("d", "  operatingMode: Suspended"))),
      run("diff --server-side -f -", configMap("a", "2")),
    ],
  },
];

const creating: readonly Case[] = [
  { name: "kubectl create", steps: [create(everything), create(everything)] },
  {
    name: "kubectl create with a typo",
    steps: [
      run("create --validate=strict -f -", sandbox("d", "  operatingmode: Suspended")),
      run("create --validate=strict -f -", pod("b", "  restartpolicy: Never")),
      run("create --validate=warn -f -", sandbox("d", "  operatingmode: Suspended")),
      run("create --validate=ignore -f -", pod("b", "  restartpolicy: Never")),
      run("get sandbox d -o json"),
    ],
  },
  {
    name: "kubectl create what is invalid",
    steps: [
      create(sandbox("d", "  operatingMode: Sleeping")),
      create(sandbox("d", "  shutdownTime: tomorrow")),
      create(warmPool("f", -1)),
      create(claim("Not_A_Name")),
      create(pod("b", "  restartPolicy: Sometimes")),
      create("apiVersion: v1\nkind: Teapot\nmetadata: {name: t}\n"),
      create("apiVersion: v1\nkind: ConfigMap\n"),
      create("not yaml: ["),
    ],
  },
  {
    name: "kubectl create config and secrets",
    steps: [
      run("create configmap c --from-literal=a=1 --from-literal=b=2"),
      run("create configmap c --from-literal=a=1"),
      run("create secret generic s --from-literal=a=1"),
      run("create secret docker-registry r --docker-username=u --docker-password=p --docker-server=example.com"),
      run("get cm c -o yaml"),
      run("get secret s -o yaml"),
      run("describe secret r"),
    ],
  },
  {
    name: "kubectl create accounts and roles",
    steps: [
      run("create serviceaccount robot"),
      run("create role reader --verb=get,list --resource=pods,sandboxes.agents.x-k8s.io"),
      run("create rolebinding robot-reads --role=reader --serviceaccount={{ns}}:robot"),
      run("create clusterrole {{ns}} --verb=get --resource=nodes"),
      run("create clusterrolebinding {{ns}} --clusterrole={{ns}} --serviceaccount={{ns}}:robot"),
      run("get role,rolebinding,serviceaccount -o wide"),
      run("describe role reader"),
      run("describe rolebinding robot-reads"),
      run("auth can-i list pods --as=system:serviceaccount:{{ns}}:robot"),
      run("auth can-i delete pods --as=system:serviceaccount:{{ns}}:robot"),
      run("auth can-i get sandboxes.agents.x-k8s.io --as=system:serviceaccount:{{ns}}:robot"),
      run("auth can-i get nodes --as=system:serviceaccount:{{ns}}:robot"),
      run("auth can-i --list --as=system:serviceaccount:{{ns}}:robot"),
      run("get secrets --as=system:serviceaccount:{{ns}}:robot"),
    ],
  },
  {
    name: "kubectl create and delete a namespace",
    steps: [
      run("create namespace {{ns}}-more"),
      run("create namespace {{ns}}-more"),
      run("get namespace {{ns}}-more -o yaml"),
      run("describe namespace {{ns}}-more"),
      run("delete namespace {{ns}}-more"),
      run("get namespace {{ns}}-more"),
      run("create configmap c --namespace=nowhere"),
      run("delete namespace kube-system --dry-run=server"),
    ],
  },
  {
    name: "kubectl create others",
    steps: [
      run("create priorityclass {{ns}} --value=10"),
      run("create token default --duration=10m --audience=x -o jsonpath={.kind}"),
      run("create service clusterip c --tcp=80"),
      run("create quota q --hard=pods=1 --dry-run=client -o name"),
      run("get priorityclass {{ns}}"),
    ],
  },
  {
    name: "kubectl run and expose",
    steps: [
      {
        kubectl: [
          "run",
          "web",
          "--image=busybox:1",
          "--port=80",
          `--overrides={"spec":{"automountServiceAccountToken":false}}`,
        ],
      },
      run("get pod web -o yaml"),
      run("expose pod web --port=80 --name=front"),
      run("get service front -o yaml"),
      run("describe service front"),
      run("run web --image=busybox:1"),
    ],
  },
];

const changing: readonly Case[] = [
  {
    name: "kubectl label and annotate",
    newOnly: true,
    steps: [
      given(together(sandbox("d"), configMap("a"))),
      run("label sandbox d tier=one"),
      run("label sandbox d tier=two"),
      run("label sandbox d tier=two --overwrite"),
      run("label sandbox d tier-"),
      run("label sandbox d tier-"),
      run("label sandbox,cm -l app=demo many=yes"),
      run("annotate cm a note=hello"),
      { kubectl: ["label", "cm", "a", "bad key=x"] },
      run("annotate cm a note- --resource-version=1"),
      run("get sandbox,cm -l app=demo --show-labels"),
      run("get sandbox,cm -l app=demo -L many"),
    ],
  },
  {
    name: "kubectl patch by merge",
    newOnly: true,
    steps: [
      given(together(sandbox("d"), pod("b"))),
      patch("merge", "sandbox d", { spec: { shutdownPolicy: "Delete" } }),
      patch("merge", "sandbox d", { spec: { shutdownPolicy: "Delete" } }),
      patch("merge", "sandbox d", { spec: { shutdownPolicy: "Forget" } }),
      patch("merge", "pod b", { spec: { restartPolicy: "Never" } }),
      patch("merge", "sandbox nosuch", {}),
      patch("merge", "sandbox d", { metadata: { labels: { a: "b" } } }, ["--dry-run=server", "-o", "yaml"]),
    ],
  },
  {
    name: "kubectl patch by operations",
    newOnly: true,
    steps: [
      given(sandbox("d")),
      patch("json", "sandbox d", [{ op: "replace", path: "/spec/shutdownPolicy", value: "Delete" }]),
      patch("json", "sandbox d", [{ op: "test", path: "/spec/shutdownPolicy", value: "Retain" }]),
      patch("json", "sandbox d", [{ op: "remove", path: "/spec/nosuch" }]),
      patch("json", "sandbox d", [
        { op: "add", path: "/spec/podTemplate/spec/containers/-", value: { name: "two", image: "x" } },
      ]),
      run("get sandbox d -o yaml"),
    ],
  },
  {
    name: "kubectl patch by strategy",
    newOnly: true,
    steps: [
      given(together(pod("b"), sandbox("d"))),
      patch("strategic", "pod b", { spec: { containers: [{ name: "main", image: "busybox:2" }] } }),
      patch("strategic", "pod b", { metadata: { labels: { $patch: "replace", only: "this" } } }),
      patch("strategic", "sandbox d", { spec: { service: true } }),
      run("get pod b -o yaml"),
    ],
  },
  {
    name: "kubectl patch the status",
    newOnly: true,
    steps: [
      given(sandbox("d")),
      patch("merge", "sandbox d --subresource=status", { status: { service: "s" }, spec: { service: true } }),
      run("get sandbox d --subresource=status -o json"),
      patch("merge", "sandbox d", { status: { service: "ignored" } }),
      run("get sandbox d -o jsonpath={.status}{.metadata.generation}"),
    ],
  },
  {
    name: "kubectl edit",
    steps: [
      given(together(configMap("a"), sandbox("d"))),
      { kubectl: ["edit", "cm", "a"], env: { KUBE_EDITOR: "sed -i s/key:/renamed:/" } },
      { kubectl: ["edit", "sandbox", "d"], env: { KUBE_EDITOR: "sed -i s/Running/Suspended/" } },
      { kubectl: ["edit", "sandbox", "d"], env: { KUBE_EDITOR: "true" } },
      run("get cm a -o jsonpath={.data}"),
      run("get sandbox d -o jsonpath={.spec.operatingMode}"),
    ],
  },
  {
    name: "kubectl replace",
    steps: [
      run("replace -f -", configMap("a")),
      given(together(configMap("a"), sandbox("d"))),
      run("replace -f -", configMap("a", "2")),
      run("replace -f -", configMap("a", "3").replace("metadata: {", 'metadata: {resourceVersion: "1", ')),
      run("replace -f -", sandbox("d", "  operatingMode: Suspended")),
      run("replace --force -f -", configMap("a", "4")),
      run("get cm a -o jsonpath={.data}"),
    ],
  },
  {
    name: "kubectl set",
    steps: [
      given(pod("b")),
      run("set image pod/b main=busybox:2"),
      run("set image pod/b main=busybox:2"),
      run("set image pod/b other=busybox:2"),
      run("get pod b -o jsonpath={.spec.containers[*].image}"),
      run("set env pod/b A=1"),
    ],
  },
  {
    name: "kubectl scale",
    newOnly: true,
    steps: [
      given(together(warmPool("f"), sandbox("d"))),
      run("scale sandboxwarmpool f --replicas=5"),
      run("scale sandboxwarmpool f --replicas=6 --current-replicas=1"),
      run("scale sandbox d --replicas=0"),
      run("scale sandboxes.v1alpha1.agents.x-k8s.io d --replicas=0"),
      run("get sandboxwarmpool f -o jsonpath={.spec.replicas}"),
      run("get sandbox d -o jsonpath={.spec.operatingMode}"),
    ],
  },
  {
    name: "kubectl breaks the rule of volumes",
    newOnly: true,
    steps: [
      given(
        sandbox(
          "d",
          "  volumeClaimTemplates: [{metadata: {name: work}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]",
        ),
      ),
      patch("json", "sandbox d", [
        { op: "replace", path: "/spec/volumeClaimTemplates/0/spec/accessModes/0", value: "ReadWriteMany" },
      ]),
      patch("json", "sandbox d", [{ op: "remove", path: "/spec/volumeClaimTemplates" }]),
      patch("merge", "sandbox d", { spec: { operatingMode: "Suspended" } }),
    ],
  },
  {
    name: "kubectl changes what cannot be changed",
    newOnly: true,
    steps: [
      given(together(pod("b"), configMap("a"), service("c"), claim("g"))),
      patch("merge", "cm a", { immutable: true }),
      patch("merge", "cm a", { data: { key: "2" } }),
      patch("merge", "cm a", { immutable: false }),
      patch("json", "pod b", [{ op: "replace", path: "/spec/containers/0/name", value: "other" }]),
      patch("merge", "pod b", { spec: { nodeName: "box" } }),
      patch("merge", "service c", { spec: { clusterIP: "10.0.0.77" } }),
      patch("merge", "sandboxclaim g", { spec: { warmPoolRef: { name: "other" } } }),
    ],
  },
  {
    name: "kubectl uses the old version",
    steps: [
      create(sandbox("d", "  replicas: 0", "v1alpha1")),
      run("get sandboxes.v1alpha1.agents.x-k8s.io d -o yaml"),
      run("get sandboxes.v1beta1.agents.x-k8s.io d -o yaml"),
      patch("merge", "sandboxes.v1alpha1.agents.x-k8s.io d", { spec: { replicas: 1 } }),
      patch("merge", "sandboxes.v1alpha1.agents.x-k8s.io d", { spec: { replicas: 2 } }),
      run("get sandbox d -o jsonpath={.spec.operatingMode}"),
      run("apply -f -", sandbox("d", "  replicas: 0", "v1alpha1")),
      run("get sandboxes.v1alpha1.agents.x-k8s.io"),
    ],
  },
];

export const kubectlWriting: readonly Case[] = [...applying, ...creating, ...changing];
