import type { Command } from "commander";

/** The scripts that complete command lines, and the hidden command that they ask. */
export function declareCompletion(program: Command): void {
  program
    .command("completion")
    .description("Print a script that completes commands in a shell, as in: source <(agent-sandbox completion bash)")
    .argument("<shell>", "bash, zsh or fish")
    .addHelpText(
      "after",
      `
It completes commands, options, and names of sandboxes, claims, pools, snapshots and images. To have it in every shell:
  bash  echo 'source <(agent-sandbox completion bash)' >> ~/.bashrc
  zsh   echo 'source <(agent-sandbox completion zsh)' >> ~/.zshrc
  fish  agent-sandbox completion fish > ~/.config/fish/completions/agent-sandbox.fish`,
    )
    .action(async (shell) => (await import("../commands/completion.ts")).completion(shell));

  program
    .command("__complete", { hidden: true })
    .description("Print what may stand at the end of a command line, for the scripts of `completion`")
    .argument("[words...]")
    .action(async (words) => (await import("../commands/completion.ts")).complete(words, program));
}
