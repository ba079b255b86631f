/** A fenced block of a page. */
export interface Block {
  /** The word after the opening fence. Empty if there is none. */
  readonly language: string;
  readonly text: string;
  /** The line of the opening fence, counted from 1. */
  readonly line: number;
  /** The reason in `<!-- not run: REASON -->` on the line before the block. */
  readonly notRun?: string;
  /** The number in `<!-- exit status: NUMBER -->` on the line before the block. */
  readonly exitStatus?: number;
  /** The name of the file that a reader saves the block as: the paragraph before it ends with "`name`:". */
  readonly file?: string;
}

const fence = /^( *)(`{3,}|~{3,})(\S*).*$/;

/** The fenced blocks of a page, in order. A block that is not closed ends with the page. */
export function blocksOf(page: string): Block[] {
  const lines = page.split("\n");
  const blocks: Block[] = [];
  for (let start = 0; start < lines.length; start++) {
    const [, indent = "", marks = "", language = ""] = fence.exec(lines[start] ?? "") ?? [];
    if (marks === "") continue;
    let end = start + 1;
    while (end < lines.length && lines[end]?.trim() !== marks) end++;
    const content = lines.slice(start + 1, end).map((line) => line.replace(new RegExp(`^ {0,${indent.length}}`), ""));
    const text = content.map((line) => `${line}\n`).join("");
    blocks.push({ language, text, line: start + 1, ...introductionOf(lines.slice(0, start)) });
    start = end;
  }
  return blocks;
}

/** What the lines before a block say about it. */
function introductionOf(lines: readonly string[]): Pick<Block, "notRun" | "exitStatus" | "file"> {
  const last = lines.at(-1)?.trim() ?? "";
  const [, notRun] = /^<!-- not run: (.+) -->$/.exec(last) ?? [];
  if (notRun !== undefined) return { notRun };
  const [, status] = /^<!-- exit status: (\d+) -->$/.exec(last) ?? [];
  if (status !== undefined) return { exitStatus: Number(status) };
  const [, file] = /`([\w-]+\.[a-z]+)`:$/.exec(lines.findLast((line) => line.trim() !== "")?.trim() ?? "") ?? [];
  return file === undefined ? {} : { file };
}

/**
 * The lines that begin a code block by indentation, counted from 1. Such a block has no language, so no test knows what it is. Text
 * that is indented below a list item is not code.
 */
export function indentedBlocksOf(page: string): number[] {
  const found: number[] = [];
  let listIndent = 0;
  let closing: string | undefined;
  let blankBefore = true;
  for (const [index, line] of page.split("\n").entries()) {
    const [, , marks] = fence.exec(line) ?? [];
    if (closing !== undefined) {
      if (line.trim() === closing) closing = undefined;
    } else if (marks !== undefined) {
      closing = marks;
    } else if (line.trim() !== "") {
      const indent = line.length - line.trimStart().length;
      const [item] = /^ *(?:[-*+]|\d+[.)]) +/.exec(line) ?? [];
      const isCode = blankBefore && indent >= listIndent + 4;
      if (isCode) found.push(index + 1);
      else if (item !== undefined) listIndent = item.length;
      else if (indent === 0 && blankBefore) listIndent = 0;
      // The next lines of the same block are not reported again.
      blankBefore = false;
      continue;
    }
    blankBefore = true;
  }
  return found;
}
