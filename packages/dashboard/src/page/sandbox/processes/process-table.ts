/**
 * All processes of a sandbox, read from /proc with a shell script: images need no `ps`. Pure. A program writes its own name and arguments,
 * so a line may say anything.
 */
import { longestCommand, mostProcesses, shorten } from "./process-list.ts";

export interface SystemProcess {
  readonly pid: number;
  readonly parent: number;
  /** One letter, as in `ps`. */
  readonly state: string;
  readonly command: string;
}

export const mostOutputBytes = 1024 * 1024;

/** Writes a line for each process: its file `stat`, a tab, its arguments. The script is not in the list. */
export const script = `n=0
for d in /proc/[0-9]*; do
  [ "$n" -ge ${mostProcesses} ] && break
  [ "$d" = "/proc/$$" ] && continue
  n=$((n+1))
  { IFS= read -r stat < "$d/stat"; } 2>/dev/null || continue
  arguments=$(tr '\\0\\n\\t' '   ' < "$d/cmdline" 2>/dev/null)
  printf '%s\\t%.${longestCommand}s\\n' "$stat" "$arguments"
done`;

/** By number. Lines that cannot be read are left out. */
export function parseProcessTable(output: string): readonly SystemProcess[] {
  const found = output
    .split("\n")
    .slice(0, mostProcesses)
    .flatMap((line) => parseLine(line) ?? []);
  return [...new Map(found.map((process) => [process.pid, process])).values()].toSorted((a, b) => a.pid - b.pid);
}

function parseLine(line: string): SystemProcess | undefined {
  const tab = line.indexOf("\t");
  const stat = tab < 0 ? line : line.slice(0, tab);
  const [open, close] = [stat.indexOf("("), stat.lastIndexOf(")")];
  if (open < 0 || close < open) return undefined;
  const pid = numberOf(stat.slice(0, open).trim());
  const [state = "", parent = ""] = stat
    .slice(close + 1)
    .trim()
    .split(" ", 2);
  if (pid === undefined) return undefined;
  const words = tab < 0 ? "" : line.slice(tab + 1).trim();
  // A thread of the kernel and a process that has ended have no arguments.
  const command = words === "" ? `[${stat.slice(open + 1, close)}]` : words;
  return {
    pid,
    parent: numberOf(parent) ?? 0,
    state: /^[A-Za-z]$/.test(state) ? state : "?",
    command: shorten(command),
  };
}

function numberOf(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

const titles: Readonly<Record<string, string>> = {
  R: "Running",
  S: "Sleeping",
  D: "Waiting for a disk",
  T: "Stopped",
  t: "Traced",
  Z: "Ended, not collected",
  X: "Ended",
  I: "Idle",
};

export function titleOfState(state: string): string {
  return Object.hasOwn(titles, state) ? (titles[state] ?? state) : state;
}
