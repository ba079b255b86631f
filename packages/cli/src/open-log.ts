import { type Logger, pino } from "pino";
import { LogOutput } from "./log-output.ts";

/** The log of a long-running command: one line of JSON for each entry, on standard output. */
export function openLog(level: string = "info"): Logger {
  return pino({ base: null, level, timestamp: pino.stdTimeFunctions.isoTime }, new LogOutput(process.stdout.fd));
}
