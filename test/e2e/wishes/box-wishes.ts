import type { Topic } from "./wish.ts";

export const boxWishes: Topic = {
  title: "Tools, other users, the box",
  wishes: [
    {
      wish: "Use kubectl",
      commands: `export KUBECONFIG=/var/lib/agent-sandbox/kubeconfig
kubectl get sandbox work`,
      output: "NAME   READY   REASON              AGE\nwork   True    DependenciesReady   5s",
    },
    {
      wish: "Keep the sandboxes of a team apart",
      commands: `agent-sandbox apply -f - <<'END'
apiVersion: v1
kind: Namespace
metadata: { name: team-a }
END
agent-sandbox -n team-a run --rm -- echo apart`,
      output: "namespace/team-a created\napart",
    },
    {
      wish: "Give a program a token that ends",
      commands: "agent-sandbox token create default/default --duration 15m | cut -c1-3",
      output: "eyJ",
    },
    {
      wish: "Mount a folder, and learn what the operator must allow",
      commands: "agent-sandbox run --rm -v ~/project:/work -- ls /work",
      output:
        'error: sandbox "run-…" does not start: …hostPath… To allow it, restart the box with --allow-host-path …/project',
      status: 1,
    },
    {
      wish: "Allow it from now on",
      commands: `agent-sandbox config set node.allow.hostPaths "[\\"$HOME/project\\"]"
agent-sandbox down && agent-sandbox up > /dev/null
agent-sandbox run --rm -v ~/project:/work:ro -- ls /work`,
      output: "…\nbuild.py",
    },
    {
      wish: "Find the command that I mistyped",
      commands: "agent-sandbox ps",
      output:
        "error: unknown command 'ps'\n(Did you mean \"agent-sandbox get sandboxes\"?)\nRun agent-sandbox --help to list the commands.",
      status: 1,
    },
    {
      wish: "Back up the box",
      commands: "agent-sandbox backup ~/box.backup",
      output:
        "Saved /var/lib/agent-sandbox to …/box.backup. The file contains keys and Secrets: protect it like a private key",
    },
    {
      wish: "Delete a sandbox that I claimed",
      commands: "agent-sandbox delete sandbox/mine",
      output: "sandboxclaim.extensions.agents.x-k8s.io/mine deleted",
    },
    {
      wish: "Delete everything",
      commands: `agent-sandbox delete sandboxclaims,sandboxwarmpools,sandboxtemplates,sandboxes --all
agent-sandbox get sandboxclaims`,
      output: "…\nsandbox.agents.x-k8s.io/work deleted\nNo resources found",
    },
  ],
};
