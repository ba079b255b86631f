import type { LogEntry } from "./log-line.ts";

export interface LogSelection {
  readonly timestamps: boolean;
  readonly sinceMs?: number;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly stream?: "stdout" | "stderr";
}

const newline = Buffer.from("\n");

/** Formats the log entries that a request selects. */
export class LogOutput {
  readonly #selection: LogSelection;
  /** Whether the last entry of a stream was a partial line. */
  readonly #open = { stdout: false, stderr: false };
  /** The last lines, each as its parts, until the existing log is read. Undefined without `tailLines`. */
  #tail: Buffer[][] | undefined;
  #left: number;

  constructor(selection: LogSelection) {
    this.#selection = selection;
    this.#tail = selection.tailLines === undefined ? undefined : [];
    this.#left = selection.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Whether `limitBytes` is reached. */
  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** The bytes to send now for an entry; may be empty. */
  add(entry: LogEntry): Buffer {
    const { stream, sinceMs } = this.#selection;
    if (stream !== undefined && entry.stream !== stream) return Buffer.alloc(0);
    const starts = !this.#open[entry.stream];
    this.#open[entry.stream] = entry.partial;
    if (sinceMs !== undefined && Date.parse(entry.time) < sinceMs) return Buffer.alloc(0);
    const bytes = this.#format(entry, starts);
    if (this.#tail === undefined) return this.#limited(bytes);
    this.#keep(this.#tail, bytes, starts);
    return Buffer.alloc(0);
  }

  /** Call when the existing log has been added. Returns the last lines; entries added after this are sent at once. */
  caughtUp(): Buffer {
    const kept = this.#tail?.slice(-(this.#selection.tailLines ?? 0)) ?? [];
    const wanted = this.#selection.tailLines === 0 ? [] : kept;
    this.#tail = undefined;
    return this.#limited(Buffer.concat(wanted.flat()));
  }

  #keep(tail: Buffer[][], bytes: Buffer, starts: boolean): void {
    if (starts || tail.length === 0) tail.push([bytes]);
    else tail.at(-1)?.push(bytes);
    // Keep up to twice as many lines, so that lines are dropped in batches.
    const wanted = this.#selection.tailLines ?? 0;
    if (tail.length > wanted * 2 + 1) this.#tail = wanted === 0 ? tail.slice(-1) : tail.slice(-wanted);
  }

  #format({ time, text, partial }: LogEntry, starts: boolean): Buffer {
    const before = this.#selection.timestamps && starts ? [Buffer.from(`${time} `)] : [];
    return Buffer.concat([...before, text, ...(partial ? [] : [newline])]);
  }

  #limited(bytes: Buffer): Buffer {
    const part = bytes.subarray(0, Math.min(bytes.length, Math.max(0, this.#left)));
    this.#left -= part.length;
    return part;
  }
}
