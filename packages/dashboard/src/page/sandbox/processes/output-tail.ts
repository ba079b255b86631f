/** The newest output of a process, as text for people. Pure. A process that writes without end cannot fill the memory. */
import { withoutEscapes } from "../logs/log-buffer.ts";

export const mostCharacters = 64 * 1024;
const longestLine = 4096;

export class OutputTail {
  #text = "";
  #isCut = false;

  add(text: string): void {
    const all = this.#text + text.slice(-mostCharacters);
    this.#isCut ||= all.length > mostCharacters || text.length > mostCharacters;
    this.#text = all.slice(-mostCharacters);
  }

  /** Whether older output is no longer there. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Without colours; other control characters are visible. A line that the process rewrote is shown as it is last. */
  get text(): string {
    return this.#text
      .split("\n")
      .map((line) => withoutEscapes(lastVersion(line)).slice(0, longestLine))
      .join("\n");
  }
}

/** Progress bars return to the begin of their line. */
function lastVersion(line: string): string {
  const whole = line.endsWith("\r") ? line.slice(0, -1) : line;
  return whole.slice(whole.lastIndexOf("\r") + 1);
}
