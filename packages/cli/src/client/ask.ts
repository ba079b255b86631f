import { createInterface } from "node:readline/promises";

/** Asks a question on the terminal. Returns true only for "y" or "yes"; the end of the input is a no. */
export async function askYesNo(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    return /^y(es)?$/i.test((await Promise.race([lines.question(`${question} [y/N] `), closed])).trim());
  } finally {
    lines.close();
  }
}
