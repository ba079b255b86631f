import { parseDurationMs } from "@agent-sandbox/api";
import { CommandError } from "../command-error.ts";

export interface WaitedCondition {
  readonly type: string;
  readonly status: string;
}

/** Parses `condition=Ready`, `condition=Ready=False` or `delete`. */
export function parseWaitedCondition(text: string): WaitedCondition | "delete" {
  if (text === "delete") return text;
  const [word, type, status = "True", ...rest] = text.split("=");
  if (word !== "condition" || !type || !status || rest.length > 0) {
    throw new CommandError(`Cannot wait for "${text}": write condition=Type, condition=Type=Status or delete`);
  }
  return { type, status };
}

const longestMs = 24 * 3_600_000;

/** The milliseconds of `30s`, `5m` or `1h30m`, at most a day. */
export function parseDuration(text: string): number {
  const total = parseDurationMs(text) ?? -1;
  if (total < 0 || total > longestMs) {
    throw new CommandError(`Cannot read duration "${text}": write it as 30s, 5m or 1h30m, at most 24h`);
  }
  return total;
}

interface Conditioned {
  readonly metadata?: { readonly generation?: number };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
      readonly observedGeneration?: number;
    }[];
  };
}

/** Ignores conditions of an older generation, because they describe an outdated spec. */
export function meets(object: object, wanted: WaitedCondition): boolean {
  const { metadata, status } = object as Conditioned;
  const found = status?.conditions?.find(({ type }) => type.toLowerCase() === wanted.type.toLowerCase());
  if (found === undefined || found.status.toLowerCase() !== wanted.status.toLowerCase()) return false;
  return (found.observedGeneration ?? Number.POSITIVE_INFINITY) >= (metadata?.generation ?? 0);
}

/** Describes the current state of the condition, for the error after a timeout. */
export function standing(object: object, wanted: WaitedCondition): string {
  const found = (object as Conditioned).status?.conditions?.find(
    ({ type }) => type.toLowerCase() === wanted.type.toLowerCase(),
  );
  if (found === undefined) return `it has no condition ${wanted.type}`;
  const why = [found.reason, found.message].filter(Boolean).join(": ");
  return `${found.type} is ${found.status}${why ? ` (${why})` : ""}`;
}
