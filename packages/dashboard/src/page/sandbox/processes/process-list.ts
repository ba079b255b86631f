/** Processes for the page. Pure. The lists come from the sandbox, so nothing about their form is certain. */
import { nameOfSignal } from "./signals.ts";

export interface ShownProcess {
  /** The number in the runtime API. */
  readonly id: number;
  readonly pid: number;
  readonly command: string;
  readonly folder: string;
  /** RFC 3339; undefined if the sandbox sent no time. */
  readonly startedAt: string | undefined;
  /** As in `Exit 1`. Undefined: it runs. */
  readonly end: string | undefined;
  readonly isFailed: boolean;
}

export const mostProcesses = 500;
export const longestCommand = 1000;

/** Those that run first, then the newest. */
export function shownProcesses(list: unknown): readonly ShownProcess[] {
  const shown = (Array.isArray(list) ? list : []).slice(0, mostProcesses * 4).flatMap((one: unknown) => {
    const { id, pid, command, cwd, startedAt, exit } = (one ?? {}) as Readonly<Record<string, unknown>>;
    if (!isCount(id)) return [];
    const words = Array.isArray(command) ? command.slice(0, longestCommand).map(textOf) : [];
    return [
      {
        id,
        pid: isCount(pid) ? pid : 0,
        command: shorten(words.map(quoted).join(" ")),
        folder: shorten(textOf(cwd)),
        startedAt:
          startedAt instanceof Date && !Number.isNaN(startedAt.valueOf()) ? startedAt.toISOString() : undefined,
        ...endOf(exit),
      },
    ];
  });
  const unique = [...new Map(shown.map((process) => [process.id, process])).values()];
  return unique.toSorted((a, b) => rank(a) - rank(b) || b.id - a.id).slice(0, mostProcesses);
}

function rank({ end }: ShownProcess): number {
  return end === undefined ? 0 : 1;
}

function endOf(exit: unknown): Pick<ShownProcess, "end" | "isFailed"> {
  if (exit === undefined || exit === null) return { end: undefined, isFailed: false };
  const { exitCode, signal, timedOut } = exit as Readonly<Record<string, unknown>>;
  if (timedOut === true) return { end: "Timed out", isFailed: true };
  if (isCount(signal)) return { end: nameOfSignal(signal), isFailed: true };
  const code = typeof exitCode === "number" ? exitCode : 0;
  return { end: `Exit ${code}`, isFailed: code !== 0 };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function shorten(text: string): string {
  return text.length > longestCommand ? `${text.slice(0, longestCommand)}…` : text;
}

/** As a person would type it. It is only shown. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
