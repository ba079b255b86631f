import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { typescriptPage } from "./typescript-page.ts";

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

const toolsTitle = "\n# @agent-sandbox/sdk/ai\n\n";

/** The reference pages of the SDKs. */
export function referencePages(): Page[] {
  const typescript = ["index", "ai"].map((module) => typescriptPage(join(root, `packages/sdk/src/${module}.ts`)));
  const go = printedBy("go", ["run", "./internal/docpage", "sandbox", goPackage], "clients/go");
  const python = printedBy("python3", ["tools/reference_page.py"], "clients/python");
  return [
    { file: "docs/reference/typescript.md", text: page("TypeScript", "typescript", typescript.join(toolsTitle)) },
    { file: "docs/reference/go.md", text: page("Go", "go", go) },
    { file: "docs/reference/python.md", text: page("Python", "python", python) },
  ];
}

function printedBy(program: string, words: readonly string[], folder: string): string {
  return execFileSync(program, words, { cwd: join(root, folder), encoding: "utf8" });
}
