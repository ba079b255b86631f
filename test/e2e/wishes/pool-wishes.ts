import type { Topic } from "./wish.ts";

export const poolWishes: Topic = {
  title: "Get sandboxes at once",
  wishes: [
    {
      wish: "Keep two sandboxes ready",
      commands: `agent-sandbox apply -f - <<'END'
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: { name: python }
spec:
  podTemplate:
    spec: { containers: [{ name: main, image: host, command: [sleep, infinity] }] }
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: { name: warm }
spec: { replicas: 2, sandboxTemplateRef: { name: python } }
END
agent-sandbox wait sandboxwarmpool/warm --for=condition=Ready --timeout=60s`,
      output: `sandboxtemplate.extensions.agents.x-k8s.io/python created
sandboxwarmpool.extensions.agents.x-k8s.io/warm created
sandboxwarmpool.extensions.agents.x-k8s.io/warm condition met`,
    },
    {
      wish: "Take one and use it by a name of mine",
      commands: `agent-sandbox claim warm --name mine
agent-sandbox exec mine -- python3 -c 'print("ready")'`,
      output: "warm-…\nready",
    },
    {
      wish: "Take one for a single command",
      commands: "agent-sandbox claim warm --rm -- python3 -c 'print(6 * 7)'",
      output: "42",
    },
    {
      wish: "See and change the size of the pool",
      commands: `agent-sandbox pool scale warm 1
agent-sandbox pool status warm`,
      output: `sandboxwarmpool.extensions.agents.x-k8s.io/warm scaled
NAME   TEMPLATE   READY   WANTED   OUTDATED   CLAIMS   AGE   WHY
warm   python     …       1        0          1        5s    …`,
    },
    {
      wish: "Use a manifest from an article, in its short form",
      commands: `agent-sandbox apply -f - <<'END'
apiVersion: agents.x-k8s.io/v1alpha1
kind: SandboxClaim
metadata: { name: from-article }
spec: { template: python }
END`,
      output: `Converted SandboxClaim "from-article": agents.x-k8s.io/v1alpha1 became extensions.agents.x-k8s.io/v1beta1…
SandboxClaim "from-article" takes its sandbox from SandboxWarmPool "warm", which has that template
sandboxclaim.extensions.agents.x-k8s.io/from-article created`,
    },
  ],
};
