import type { Case, KubectlStep, Step } from "../case.ts";
import { everything, given, patch, run } from "./kubectl-steps.ts";
import { claim, configMap, pod, sandbox, service, template, together, warmPool } from "./manifests.ts";

const node: Step = {
  method: "POST",
  path: "/api/v1/nodes",
  body: { apiVersion: "v1", kind: "Node", metadata: { name: "{{ns}}" }, status: { capacity: { cpu: "2" } } },
};

const operating: readonly Case[] = [
  {
    name: "kubectl cordon and taint",
    steps: [
      node,
      run("describe node {{ns}}"),
      run("cordon {{ns}}"),
      run("get node {{ns}}"),
      run("taint node {{ns}} a=b:NoSchedule"),
      run("taint node {{ns}} a=c:NoSchedule"),
      run("taint node {{ns}} a=c:NoSchedule --overwrite"),
      run("taint node {{ns}} a:NoSchedule-"),
      run("uncordon {{ns}}"),
      run("label node {{ns}} node-role.kubernetes.io/worker="),
      run("get node {{ns}} -o wide"),
      run("delete node {{ns}}"),
    ],
  },
  {
    name: "kubectl drain",
    newOnly: true,
    steps: [
      node,
      given(pod("b", "  nodeName: {{ns}}")),
      run("drain {{ns}} --dry-run=server"),
      run("drain {{ns}} --force --dry-run=server"),
      run("drain {{ns}}"),
      run("delete pod b --force"),
      run("drain {{ns}}"),
      run("get node {{ns}}"),
    ],
  },
  {
    name: "kubectl gives away no more than one has",
    steps: [
      run("create role maker --verb=* --resource=roles,rolebindings"),
      run("create rolebinding maker --role=maker --user=visitor"),
      ...[
        "create role more --verb=get --resource=secrets",
        "create rolebinding more --clusterrole=cluster-admin --user=visitor",
        "create role less --verb=get --resource=roles",
        "get roles",
        "get secrets",
        "auth can-i --list",
      ].map((words): KubectlStep => ({ ...run(words), as: "visitor" })),
    ],
  },
  {
    name: "kubectl and what was applied last",
    newOnly: true,
    steps: [
      run("apply -f -", configMap("a")),
      { kubectl: ["apply", "edit-last-applied", "cm/a"], env: { KUBE_EDITOR: 'sed -i s/"1"/"2"/' } },
      run("apply set-last-applied -f -", configMap("a", "3")),
      run("apply view-last-applied cm a -o yaml"),
      // kubectl lists several in any order.
      run("label cm a app=other --overwrite --list"),
      run("get cm a --show-kind"),
      run("get cm nosuch --ignore-not-found"),
      run("delete cm a -o name"),
    ],
  },
  {
    name: "kubectl and subresources",
    newOnly: true,
    steps: [
      given(warmPool("f")),
      run("get sandboxwarmpool f --subresource=scale -o yaml"),
      run("get sandboxwarmpool f --subresource=scale"),
      patch("merge", "sandboxwarmpool f --subresource=scale", { spec: { replicas: 7 } }),
      run("get sandboxwarmpool f --subresource=status"),
      { kubectl: ["edit", "sandboxwarmpool", "f", "--subresource=status"], env: { KUBE_EDITOR: "true" } },
      run("scale sandboxwarmpool --all --replicas=3"),
      run("rollout status sandboxwarmpool/f"),
      run("rollout restart sandboxwarmpool/f"),
      run("expose sandboxwarmpool f --port=80"),
      run("logs sandboxwarmpool/f"),
    ],
  },
];

const deleting: readonly Case[] = [
  {
    name: "kubectl delete",
    steps: [
      given(everything),
      run("delete sandbox d"),
      run("delete sandbox d"),
      run("delete sandbox d --ignore-not-found"),
      run("delete cm,svc -l app=demo"),
      run("delete sandboxtemplate e --dry-run=server"),
      run("delete -f -", together(template("e"), warmPool("f"), claim("g"))),
      run("delete pod b --now"),
      run("delete pod nosuch --force --grace-period=0"),
      run("get cm,pod,svc,sandbox -l app=demo"),
    ],
  },
  ...["background", "foreground", "orphan"].map((cascade) => ({
    name: `kubectl delete in the ${cascade}`,
    steps: [
      given(sandbox("d")),
      {
        method: "GET",
        path: "/apis/agents.x-k8s.io/v1beta1/namespaces/{{ns}}/sandboxes/d",
        save: { uid: "metadata.uid" },
      },
      given(
        configMap("a").replace(
          "metadata: {",
          "metadata: {ownerReferences: [{apiVersion: agents.x-k8s.io/v1beta1, kind: Sandbox, name: d, uid: '{{uid}}', blockOwnerDeletion: true}], ",
        ),
      ),
      run(`delete sandbox d --cascade=${cascade}`),
      ...(cascade === "orphan" ? [] : [run("wait cm/a --for=delete --timeout=20s")]),
      run("get cm -l app=demo -o jsonpath={.items[*].metadata.ownerReferences}"),
    ],
  })),
  {
    name: "kubectl delete all",
    steps: [
      given(together(configMap("a"), pod("b"), service("c"))),
      run("delete all --all --now"),
      run("get all"),
      run("get cm -l app=demo"),
    ],
  },
];

const debugging: readonly Case[] = [
  {
    name: "kubectl debug",
    newOnly: true,
    steps: [
      given(pod("b")),
      run("debug b --image=busybox:1 -c look --profile=general"),
      run("debug b --image=busybox:1 -c closer --target=main --profile=baseline --env=A=1"),
      run("debug b --image=busybox:1 -c look --profile=general"),
      run("debug b --image=busybox:1 -c lost --target=nosuch --profile=general"),
      run("get pod b -o yaml"),
      run("describe pod b"),
      run("logs b -c look"),
    ],
  },
];

export const kubectlOperating: readonly Case[] = [...operating, ...deleting, ...debugging];
