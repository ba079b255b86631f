import { parseAllDocuments } from "yaml";
import type { Block } from "../../scripts/docs/markdown-blocks.ts";

/** A part of a page that is run: its commands, or the check of a manifest. */
export interface Step {
  readonly block: Block;
  readonly commands: string;
  /** The next block, if it is the output of this one. */
  readonly expected?: Block;
}

/** What is run of a page, in order. Blocks that say why they are not run are left out. */
export function stepsOf(blocks: readonly Block[]): Step[] {
  return blocks.flatMap((block, index) => {
    if (block.notRun !== undefined) return [];
    const after = blocks[index + 1];
    const expected = after?.language === "text" && after.notRun === undefined ? { expected: after } : {};
    if (block.language === "sh") return [{ block, commands: withStatus(block), ...expected }];
    const commands = [
      ...(block.file === undefined ? [] : [`cat >${block.file} ${hereDocument(block.text)}`]),
      ...(block.language === "yaml" ? [dryRun(block.text)] : []),
    ];
    return commands.length === 0 ? [] : [{ block, commands: commands.join("") }];
  });
}

/** A block that must fail runs in a shell of its own, because the page's shell ends with the first command that fails. */
export function withStatus({ text, exitStatus = 0 }: Block): string {
  if (exitStatus === 0) return text;
  return `status=0; (\n${text}) || status=$?\n[ "$status" = ${exitStatus} ] || { echo "exit status $status"; exit 1; }\n`;
}

export const hereDocument = (text: string): string => `<<'END OF THE BLOCK'\n${text}END OF THE BLOCK\n`;

/** The server checks a manifest as it would when it is applied, and changes nothing. */
function dryRun(text: string): string {
  const objects = parseAllDocuments(text).map((document) => complete(document.toJS() as object));
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  const options = "--server-side --force-conflicts --dry-run=server";
  return `kubectl --kubeconfig /var/lib/agent-sandbox/kubeconfig apply ${options} -f - ${hereDocument(`${list}\n`)}`;
}

/** Pages show parts of a Sandbox too. */
function complete(object: { readonly apiVersion?: string; readonly spec?: object }): object {
  if (object.apiVersion !== undefined) return object;
  const podTemplate = { spec: { containers: [{ name: "main", image: "host" }] } };
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "part" },
    ...object,
    spec: { podTemplate, ...object.spec },
  };
}

/**
 * A script for one bash. The output of step n goes to the file n of `outputs`, and the file `current` has the number of the step that
 * runs, or that ended the script.
 */
export function scriptOf(steps: readonly Step[], outputs: string): string {
  const parts = steps.map(
    ({ commands }, index) => `echo ${index} >${outputs}/current\nexec >${outputs}/${index} 2>&1\n${commands}`,
  );
  const end = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n";
  return `set -euo pipefail\n${end}${parts.join("")}echo done >${outputs}/current\n`;
}
