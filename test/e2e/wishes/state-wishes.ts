import type { Topic } from "./wish.ts";

export const stateWishes: Topic = {
  title: "Pause, go back, copy",
  wishes: [
    {
      wish: "Pause a sandbox that I do not need now",
      commands: "agent-sandbox suspend work",
      output: "sandbox.agents.x-k8s.io/work suspended…",
    },
    {
      wish: "Continue later with the same files",
      commands: `agent-sandbox resume work
agent-sandbox exec work -- cat /root/index.html`,
      output: "sandbox.agents.x-k8s.io/work resumed…\nHello from work",
    },
    {
      wish: "Try something risky and go back",
      commands: `agent-sandbox snapshot create work before
agent-sandbox exec work -- rm -r /root/project
agent-sandbox snapshot restore work before
agent-sandbox exec work -- ls /root/project`,
      output: `sandboxsnapshot.snapshots.agents.x-k8s.io/before created (depth …)
sandbox.agents.x-k8s.io/work restored from before (…)
build.py`,
    },
    {
      wish: "Try two things at the same time",
      commands: `agent-sandbox fork work left right
agent-sandbox exec left -- hostname
agent-sandbox exec right -- cat /root/index.html`,
      output: `sandbox.agents.x-k8s.io/left forked from work (…)
sandbox.agents.x-k8s.io/right forked from work (…)
left
Hello from work`,
    },
    {
      wish: "Start a stuck sandbox again",
      commands: "agent-sandbox restart work",
      output: "sandbox.agents.x-k8s.io/work restarted",
    },
  ],
};
