import { readFile } from "node:fs/promises";

/** The largest file that is read. */
const mostBytes = 64 << 10;

/**
 * Reads the domains of labels that claims may set, separated by commas or newlines. Undefined if the file is missing or
 * empty: then the default applies.
 */
export async function readLabelDomains(path: string): Promise<readonly string[] | undefined> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw new Error(`Cannot read "${path}": ${error.message}`, { cause: error });
  });
  if (text.length > mostBytes) throw new Error(`Cannot read "${path}": it is larger than ${mostBytes} bytes`);
  const domains = parseLabelDomains(text);
  return domains.length === 0 ? undefined : domains;
}

export function parseLabelDomains(text: string): string[] {
  return text.split(/[,\r\n]/).flatMap((entry) => (entry.trim() === "" ? [] : [entry.trim().toLowerCase()]));
}
