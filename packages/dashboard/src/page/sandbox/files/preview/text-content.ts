/** Text as it is in a file, and as an editor holds it. Pure. */
import { cleanLines } from "../../../components/clean-text.ts";

export interface TextContent {
  /** With `\n` at the ends of lines, and without a byte order mark. */
  readonly text: string;
  /** Why it cannot be edited here; undefined if it can. */
  readonly locked: string | undefined;
  readonly lineEnd: "\n" | "\r\n";
  readonly hasMark: boolean;
}

const mark = "\ufeff";

/** Undefined: it is not text in UTF-8. `isCut`: these are only the first bytes of the file. */
export function readTextContent(bytes: Uint8Array, isCut: boolean): TextContent | undefined {
  if (bytes.includes(0)) return undefined;
  const decoded = decode(bytes, isCut);
  if (decoded === undefined) return undefined;
  const hasMark = decoded.startsWith(mark);
  const content = hasMark ? decoded.slice(mark.length) : decoded;
  const hasOnlyPairs = content.includes("\r\n") && !content.replaceAll("\r\n", "").includes("\n");
  const lineEnd = hasOnlyPairs ? "\r\n" : "\n";
  const text = hasOnlyPairs ? content.replaceAll("\r\n", "\n") : content;
  return { text, locked: lockOf(text, isCut), lineEnd, hasMark };
}

/** A text field changes the ends of lines and shows no control characters: saving would change more than the user sees. */
function lockOf(text: string, isCut: boolean): string | undefined {
  if (isCut) return "It is too large to edit here";
  if (text.includes("\r")) return "Its lines end in different ways: download it to edit it";
  if (cleanLines(text) !== text)
    return "It has characters that are hidden or change how text looks: download it to edit it";
  return undefined;
}

function decode(bytes: Uint8Array, isCut: boolean): string | undefined {
  try {
    // The last character may be cut too.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}

/** The content of the file for an edited text. */
export function fileContent(text: string, { lineEnd, hasMark }: Pick<TextContent, "lineEnd" | "hasMark">): string {
  return (hasMark ? mark : "") + (lineEnd === "\r\n" ? text.replaceAll("\n", "\r\n") : text);
}
