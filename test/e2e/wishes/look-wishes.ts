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
      commands: "timeout 3 agent-sandbox get sandboxes --watch",
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
      commands: `agent-sandbox apply -f - <<'END'
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: { name: broken }
spec:
  podTemplate:
    spec: { containers: [{ name: main, image: host, command: [sh, -c, 'echo "no such table: users"; exit 3'] }] }
END
sleep 3
agent-sandbox get sandbox broken -o wide
agent-sandbox logs broken`,
      output: `sandbox.agents.x-k8s.io/broken created
NAME     READY   REASON                 AGE   RUNTIME   DEPTH       WHY
broken   False   DependenciesNotReady   3s    …   <default>   container "main": exited with code 3 …
no such table: users`,
    },
    {
      wish: "Read the history of a sandbox",
      commands: "agent-sandbox events broken",
      output: `LAST SEEN   TYPE      REASON        OBJECT           MESSAGE
…
3s          Warning   PodNotReady   sandbox/broken   container "main": exited with code 3 …
…`,
    },
    {
      wish: "Know whether the box itself runs",
      commands: "agent-sandbox status",
      output:
        "The box is running (process …) since 2026-01-01T10:00:00.000Z\n…\n  sandboxes   2, 1 ready\n  runtimes    1 …",
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
