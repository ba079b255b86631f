import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { apiPage } from "./api-page.ts";
import { cliPage } from "./cli-page.ts";
import { conditionsPage } from "./conditions-page.ts";
import { metricsPage } from "./metrics-page.ts";
import { settingsPage } from "./settings-page.ts";
import { typescriptPage } from "./typescript-page.ts";
import { wishesPage } from "./wishes-page.ts";

const root = join(import.meta.dirname, "../..");

export interface Page {
  /** Relative to the repository. */
  readonly file: string;
  readonly text: string;
}

const hint =
  "Made from the comments in the code by `make generate`; do not edit. Each example that is a whole program is run by `make test-sdk`.";

function page(language: string, guide: string, text: string): string {
  const body = text.trim().replaceAll(/\n{3,}/g, "\n\n");
  return `# ${language} reference\n\n${hint} Start with the [guide](../guides/${guide}.md).\n\n${body}\n`;
}

const goPackage = "github.com/agent-sandbox/agent-sandbox/clients/go/sandbox";

const wishesHint = `Each wish has its command and what it prints. \`make test-e2e\` runs all of them, in this order, on one new box. \`…\` stands for text
that differs from run to run. Made from \`test/e2e/wishes\` by \`make generate\`; do not edit.

Commands are run as root, or by a member of the [box's group](operations.md#let-other-users-use-the-box). The [reference](reference/cli.md) lists all
commands and the exit status of each failure.`;

const toolsTitle = "\n# @agent-sandbox/sdk/ai\n\n";

function plainPage(name: string, title: string, text: string): Page {
  const made = "Made from the source by `make generate`; do not edit.";
  return { file: `docs/reference/${name}.md`, text: `# ${title}\n\n${made}\n\n${text.trim()}\n` };
}

/** The reference pages of the SDKs, the CLI, the API and what operators set and see. */
export async function referencePages(): Promise<Page[]> {
  const typescript = ["index", "ai"].map((module) => typescriptPage(join(root, `packages/sdk/src/${module}.ts`)));
  const go = printedBy("go", ["run", "./internal/docpage", "sandbox", goPackage], "clients/go");
  const python = printedBy("python3", ["tools/reference_page.py"], "clients/python");
  return [
    { file: "docs/reference/typescript.md", text: page("TypeScript", "typescript", typescript.join(toolsTitle)) },
    { file: "docs/reference/go.md", text: page("Go", "go", go) },
    { file: "docs/reference/python.md", text: page("Python", "python", python) },
    plainPage("cli", "Commands of agent-sandbox", cliPage()),
    plainPage("api", "Fields of the API", apiPage()),
    plainPage("conditions", "Conditions, events and their reasons", conditionsPage()),
    plainPage("metrics", "Metrics", await metricsPage()),
    plainPage("settings", "Settings", settingsPage()),
    { file: "docs/wishes.md", text: `# What do you want to do?\n\n${wishesHint}\n\n${wishesPage()}\n` },
  ];
}

function printedBy(program: string, words: readonly string[], folder: string): string {
  return execFileSync(program, words, { cwd: join(root, folder), encoding: "utf8" });
}
