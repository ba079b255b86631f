import type { Topic } from "./wish.ts";

export const lookWishes: Topic = {
  title: "See what happens",
  wishes: [
    {
      wish: "List my sandboxes",
      commands: "agent-sandbox get sandboxes",
      output: "NAME   READY   REASON              AGE\nwork   True    DependenciesReady   5s",
    },
    {
      wish: "List those of one team, for a script",
      commands: "agent-sandbox get sandboxes -l team=shop -o name",
      output: "sandbox.agents.x-k8s.io/work",
    },
    {
      wish: "See each change while it happens",
      commands: "timeout 10 agent-sandbox get sandboxes --watch",
      output: "NAME   READY   REASON              AGE\nwork   True    DependenciesReady   5s",
      status: 124,
    },
    {
      wish: "Know everything about one",
      commands: "agent-sandbox describe work",
      output: `Name:      work
Namespace: default
Labels:    team=shop
Age:       5s
Ready:     True (DependenciesReady)
Mode:      Running
Image:     host
Runtime:   …
Pod:       work (Running)
Restarts:  0
Addresses: …
Events:
…`,
    },
    {
      wish: "See what it uses",
      commands: "agent-sandbox top work",
      output:
        "NAME   CPU(CORES)   CPU LIMIT   MEMORY(BYTES)   MEMORY LIMIT\nwork   …m          <none>      …Mi             <none>",
    },
    {
      wish: "Know why a sandbox does not start",
      commands: "agent-sandbox create broken --image registry.invalid/tool:1",
      output:
        'error: sandbox "broken" does not start: container "main": cannot pull image "registry.invalid/tool:1": …',
      status: 1,
    },
    {
      wish: "See how strongly it is isolated, and what a suspension keeps",
      commands: "agent-sandbox get sandboxes -o wide",
      output:
        "NAME   READY   REASON              AGE   RUNTIME   DEPTH       WHY\nwork   True    DependenciesReady   5s    …         <default>   <none>",
    },
    {
      wish: "Read what my program prints",
      commands: `agent-sandbox apply -f - <<'END'
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: { name: server }
spec:
  podTemplate:
    spec: { containers: [{ name: main, image: host, command: [sh, -c, 'echo listening; exec sleep infinity'] }] }
END
agent-sandbox wait sandbox/server --for=condition=Ready --timeout=60s
agent-sandbox logs server`,
      output: `sandbox.agents.x-k8s.io/server created
sandbox.agents.x-k8s.io/server condition met
listening`,
    },
    {
      wish: "Read the history of a sandbox",
      commands: "agent-sandbox events server",
      output: `LAST SEEN   TYPE     REASON      OBJECT       MESSAGE
…
3s          Normal   Started     pod/server   Started container main
…`,
    },
    {
      wish: "Know whether the box itself runs",
      commands: "agent-sandbox status",
      output:
        "The box is running (process …) since 2026-01-01T10:00:00.000Z\n…\n  sandboxes   2, 2 ready\n  runtimes    2 …",
    },
    {
      wish: "Know what this machine supports",
      commands: "agent-sandbox doctor",
      output: `CHECK   STATE   DETAIL
root    ok      yes
…
conmon  ok      …
…`,
    },
  ],
};
