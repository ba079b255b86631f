/** The lines of a log, of which only the newest are kept, so that a container that writes without end cannot fill the memory. Pure. */
import { cleanText } from "../../components/clean-text.ts";

export interface LogLine {
  /** Grows by one with each line. */
  readonly id: number;
  /** RFC 3339 with nanoseconds, as the server sends it. */
  readonly time: string;
  readonly text: string;
}

export const mostLines = 20_000;
/** A longer line is cut off. */
const longestLine = 16_384;
const mostCharacters = 16 * 1024 * 1024;

export class LogBuffer {
  #lines: LogLine[] = [];
  #rest = "";
  #isSkipping = false;
  #nextId = 0;
  #characters = 0;
  #dropped = 0;

  /** Adds text that arrives in pieces. */
  add(text: string): void {
    let from = 0;
    for (;;) {
      const end = text.indexOf("\n", from);
      const part = text.slice(from, end < 0 ? undefined : end);
      if (!this.#isSkipping) this.#rest += part.slice(0, longestLine - this.#rest.length);
      if (this.#rest.length >= longestLine) this.#isSkipping = true;
      if (end < 0) break;
      this.#push(this.#rest);
      this.#rest = "";
      this.#isSkipping = false;
      from = end + 1;
    }
    this.#trim();
  }

  /** A copy, which does not change. */
  get lines(): readonly LogLine[] {
    return this.#lines.slice();
  }

  /** How many lines were dropped because there were too many. */
  get dropped(): number {
    return this.#dropped;
  }

  /** The time of the newest line, to continue from after a lost connection. */
  get newest(): string | undefined {
    return this.#lines.at(-1)?.time;
  }

  #push(line: string): void {
    const { time, text } = splitTime(line);
    // The server repeats lines of the second that a stream continues from.
    const last = this.newest;
    if (last !== undefined && time !== "" && time < last) return;
    if (last !== undefined && time === last && this.#lines.at(-1)?.text === text) return;
    this.#lines.push({ id: this.#nextId++, time, text });
    this.#characters += text.length;
  }

  #trim(): void {
    let excess = Math.max(0, this.#lines.length - mostLines);
    let characters = this.#characters;
    for (let index = 0; index < this.#lines.length && (index < excess || characters > mostCharacters); index++) {
      characters -= this.#lines[index]?.text.length ?? 0;
      excess = Math.max(excess, index + 1);
    }
    if (excess === 0) return;
    this.#characters = characters;
    this.#dropped += excess;
    this.#lines = this.#lines.slice(excess);
  }
}

/** The server writes the time before each line when it is asked to. */
function splitTime(line: string): { readonly time: string; readonly text: string } {
  const [, time = "", text = ""] = /^(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) ?(.*)$/s.exec(line) ?? [];
  return time === "" ? { time, text: withoutEscapes(line) } : { time, text: withoutEscapes(text) };
}

// oxlint-disable-next-line no-control-regex -- escape sequences begin with one
const escapes = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;

/** Colours of terminals are not shown; other control characters become visible. */
export function withoutEscapes(text: string): string {
  const plain = text.replace(/\r$/, "").replaceAll(escapes, "");
  return plain
    .split("\t")
    .map((part) => cleanText(part))
    .join("\t");
}

/** The lines that contain a text, in any case. */
export function findLines(lines: readonly LogLine[], query: string): readonly LogLine[] {
  const wanted = query.toLowerCase();
  return wanted === "" ? lines : lines.filter(({ text }) => text.toLowerCase().includes(wanted));
}
