import type { Command } from "commander";
import { withFolder } from "./options.ts";

/** Commands for the settings of the box. */
export function declareConfig(program: Command): void {
  const config = withFolder(program.command("config"))
    .description("Show the settings of the box and where each comes from")
    .addHelpText(
      "after",
      `
Settings are in config.json in the data folder. Options of "up" add to them or win over them. A change takes effect at the next start of the
box; registries at once. docs/reference/settings.md lists all settings.

Examples:
  agent-sandbox config
  agent-sandbox config set box.listen 127.0.0.1:7000
  agent-sandbox config set node.allow.hostPaths '["/srv/projects"]'
  agent-sandbox config unset box.listen`,
    )
    .action(async (_options, command) => (await import("../commands/config.ts")).viewConfig(command.optsWithGlobals()));

  withFolder(config.command("set"))
    .description("Write a setting to config.json. Nothing is written if the value is not valid")
    .argument("<setting>", "path of the setting, as in node.defaults.pids")
    .argument("<value>", "text, or JSON for numbers, lists and objects")
    .action(async (key, value, _options, command) =>
      (await import("../commands/config.ts")).setConfig(key, value, command.optsWithGlobals()),
    );

  withFolder(config.command("unset"))
    .description("Remove a setting from config.json, so that it has its default")
    .argument("<setting>")
    .action(async (key, _options, command) =>
      (await import("../commands/config.ts")).unsetConfig(key, command.optsWithGlobals()),
    );

  withFolder(config.command("path"))
    .description("Print the path of config.json")
    .action(async (_options, command) =>
      (await import("../commands/config.ts")).printConfigPath(command.optsWithGlobals()),
    );
}
