// Prints a script that runs the commands of a page and prints how long each block took, as `times <ms> <page>:<line>`. It also runs the
// blocks that `make test-docs` leaves to `make test-fresh`, and does not send manifests to the server.
//
//   node test/fresh/page.ts <folder of the repository> <page>
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Block, blocksOf } from "../../scripts/docs/markdown-blocks.ts";
import { hereDocument, withStatus } from "../docs/page-script.ts";

const [folder = ".", page = "README.md"] = process.argv.slice(2);
const isRun = ({ notRun }: Block): boolean => notRun === undefined || notRun.includes("make test-fresh");

function commandsOf(block: Block): string[] {
  if (block.language === "sh") return [withStatus(block)];
  return block.file === undefined ? [] : [`cat >${block.file} ${hereDocument(block.text)}`];
}

const parts = blocksOf(readFileSync(join(folder, page), "utf8"))
  .filter(isRun)
  .flatMap((block) => commandsOf(block).map((commands) => ({ commands, place: `${page}:${block.line}` })));

const head = `set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
now() { date +%s%3N; }
`;
const steps = parts.map(
  ({ commands, place }) => `printf '\\n-- %s\\n' ${place}
began=$(now)
${commands}printf 'times %d %s\\n' $(($(now) - began)) ${place}
`,
);
process.stdout.write([head, ...steps].join(""));
