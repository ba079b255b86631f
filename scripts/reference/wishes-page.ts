import { topics } from "../../test/e2e/wishes/table.ts";
import type { Wish } from "../../test/e2e/wishes/wish.ts";

/** What new users want, with the commands that `make test-e2e` runs and what they print. */
export function wishesPage(): string {
  return topics.map(({ title, wishes }) => [`## ${title}`, ...wishes.map(section)].join("\n\n")).join("\n\n");
}

function section({ wish, commands, output, status = 0 }: Wish): string {
  return (
    [
      `### ${wish}`,
      ...(status === 0 ? [] : [`<!-- exit status: ${status} -->`]),
      fenced("sh", commands),
      ...(output === "" ? [] : [fenced("text", output)]),
      ...(status === 0 ? [] : [`The exit status is ${status}.`]),
    ]
      .join("\n\n")
      // The mark of a block is on the line before it.
      .replace("-->\n\n", "-->\n")
  );
}

const fenced = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;
