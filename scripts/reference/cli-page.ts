import type { Command } from "commander";
import { createProgram } from "../../packages/cli/src/program.ts";

/** These print their own help: their flags are those of the reference implementation. */
const ownHelp: Readonly<Record<string, string>> = {
  manager: "Its flags are in [Settings](settings.md#flags-of-the-manager).",
  router: "Its flags are in [Settings](settings.md#flags-of-the-router).",
};

/** The help of every command, as the terminal shows it. */
export function cliPage(): string {
  return sections(createProgram(), []).join("\n\n");
}

function sections(command: Command, above: readonly string[]): string[] {
  const path = [...above, command.name()];
  const title = `## ${path.join(" ")}`;
  const other = ownHelp[command.name()];
  if (other !== undefined) return [`${title}\n\n${command.description()}. ${other}`];
  return [
    `${title}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\``,
    ...command.commands.filter((child) => !isHidden(child)).flatMap((child) => sections(child, path)),
  ];
}

/** Commands for scripts only. */
const isHidden = (command: Command): boolean => command.name().startsWith("__");

function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({
    writeOut: (more) => {
      text += more;
    },
    getOutHelpWidth: () => 118,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return text.trim();
}
