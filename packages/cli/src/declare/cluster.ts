import type { Command } from "commander";
import { withServer } from "./options.ts";

/** Commands that install manager and router in a cluster. */
export function declareCluster(program: Command): void {
  withInstallOptions(program.command("install"))
    .description(
      "Install manager and router in a Kubernetes cluster, after checking version, permissions and leftovers",
    )
    .addHelpText(
      "after",
      `
The images must be where the nodes can pull them: build them with "make operator-images" and push them to a registry.

Examples:
  agent-sandbox install --kubeconfig ~/.kube/config --registry registry.example.com/team
  agent-sandbox install --dry-run > agent-sandbox.yaml`,
    )
    .action(async (_options, command) => (await import("../commands/install.ts")).install(command.optsWithGlobals()));

  withInstallOptions(program.command("upgrade"))
    .description("Bring an installation in a cluster to this version and these options. Sandboxes keep running")
    .action(async (_options, command) => (await import("../commands/install.ts")).upgrade(command.optsWithGlobals()));

  withServer(program.command("uninstall"))
    .description(
      "Remove manager and router from a cluster. Refuses while there are sandboxes, unless told what to do with them",
    )
    .option("--keep-objects", "keep Sandboxes, claims, pools, templates and the CRDs; running Pods keep running")
    .option("--delete-objects", "delete them first, with their Pods and volumes")
    .option("--dry-run", "print what would be deleted")
    .option("--timeout <duration>", "how long to wait, as in 30s or 5m", "5m")
    .action(async (_options, command) =>
      (await import("../commands/uninstall.ts")).uninstall(command.optsWithGlobals()),
    );
}

function withInstallOptions(command: Command): Command {
  return withServer(command)
    .option("--registry <address>", "registry of both images, with a path if there is one (default: localhost)")
    .option("--image <image>", "image of manager and router")
    .option("--runtime-image <image>", "image of sandboxd")
    .option("--pull-policy <policy>", "when nodes pull the images: Always, IfNotPresent or Never", "IfNotPresent")
    .option("--replicas <number>", "replicas of the manager", "2")
    .option("--cluster-domain <domain>", "DNS domain of the cluster", "cluster.local")
    .option("--core", "install Sandboxes only, without templates, pools and claims")
    .option("--no-router", "install no router")
    .option("--no-runtime", "do not let the router read the tokens of injected runtimes")
    .option("--dry-run", "print the objects and change nothing; needs no cluster")
    .option("--no-wait", "do not wait until manager and router are ready")
    .option("--timeout <duration>", "how long to wait, as in 30s or 5m", "5m");
}
