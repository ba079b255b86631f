/** The signals that a person sends to a process. */
export const signals = [
  ["SIGTERM", "ask it to end"],
  ["SIGKILL", "end it at once"],
  ["SIGINT", "interrupt it, as Ctrl+C does"],
  ["SIGHUP", "its terminal is gone; many servers read their settings again"],
  ["SIGQUIT", "end it, and write what it was doing"],
] as const;

export type Signal = (typeof signals)[number][0];

const names: Readonly<Record<number, string>> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM",
};

export function nameOfSignal(number: number): string {
  return names[number] ?? `signal ${number}`;
}
