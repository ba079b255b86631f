import type { Command } from "commander";
import { execCommand } from "../commands/exec-command.ts";
import { appended, withServer } from "./options.ts";

/** Commands for objects, as in kubectl. */
export function declareObjects(program: Command): void {
  withServer(program.command("apply"))
    .description("Create or update the objects in YAML or JSON files")
    .requiredOption("-f, --filename <file>", "file to read, or - for standard input; can be repeated", appended)
    .action(async (_options, command) => (await import("../commands/apply.ts")).apply(command.optsWithGlobals()));

  withServer(program.command("get"))
    .description("List objects")
    .argument("<type>", "resource types, separated by commas (sandboxes,pods), or type/name")
    .argument("[names...]")
    .option("-A, --all-namespaces", "list objects in all namespaces")
    .option("-o, --output <format>", "output format: json, yaml, name or wide (sandboxes: RUNTIME, DEPTH and WHY)")
    .option("-l, --selector <labels>", "label selector, as in app=web")
    .option("-w, --watch", "show a row for each change until interrupted")
    .option("--show-managed-fields", "keep metadata.managedFields in JSON and YAML")
    .action(async (type, names, _options, command) =>
      (await import("../commands/get.ts")).get(type, names, command.optsWithGlobals()),
    );

  withServer(program.command("delete"))
    .description("Delete objects and everything they own")
    .argument("[type/name...]", "type/name, as in sandbox/my-sandbox, or a type followed by names")
    .option(
      "-f, --filename <file>",
      "delete the objects in this file; - reads standard input; can be repeated",
      appended,
    )
    .option("--ignore-not-found", "succeed if the object does not exist")
    .option("--all", "delete all objects of the types in the namespace, as in delete sandboxes --all")
    .action(async (words, _options, command) =>
      (await import("../commands/delete.ts")).deleteObjects(words, command.optsWithGlobals()),
    );

  withServer(program.command("wait"))
    .description("Wait until objects have a condition or are deleted")
    .argument("<type/name...>")
    .requiredOption("--for <what>", "condition=Type, condition=Type=Status, or delete")
    .option("--timeout <duration>", "how long to wait for all of them, as in 30s or 5m", "30s")
    .action(async (targets, _options, command) =>
      (await import("../commands/wait.ts")).wait(targets, command.optsWithGlobals()),
    );
}

/** Sessions with sandboxes, as in kubectl. */
export function declareSessions(program: Command): void {
  execCommand(withServer(program.command("exec")), async (sandbox, words, options) =>
    (await import("../commands/exec.ts")).exec(sandbox, words, options),
  );

  withServer(program.command("logs"))
    .description("Print the logs of a sandbox")
    .argument("<sandbox>")
    .option("-f, --follow", "keep printing new lines")
    .option("-p, --previous", "print the logs of the previous run of the container")
    .option("--timestamps", "prefix each line with its timestamp")
    .option("--tail <lines>", "print only this many of the last lines")
    .option("--since <duration>", "print only lines newer than this, as in 30s or 5m")
    .option("-c, --container <name>", "container name (default: the first container)")
    .action(async (sandbox, _options, command) =>
      (await import("../commands/logs.ts")).logs(sandbox, command.optsWithGlobals()),
    );

  withServer(program.command("port-forward"))
    .description("Forward a local port to a port of a sandbox until interrupted")
    .argument("<sandbox>")
    .argument("<[local:]remote>", "the ports; :remote listens on any free local port")
    .option("--address <address>", "local address to listen on", "127.0.0.1")
    .action(async (sandbox, ports, _options, command) =>
      (await import("../commands/port-forward.ts")).portForward(sandbox, ports, command.optsWithGlobals()),
    );
}
