import { diff, inspect } from "node:util";

/** A difference between the responses of the two servers. */
export interface Difference {
  /** The number of the step and the path to the value, such as `2.body.metadata.labels`. */
  readonly path: string;
  readonly theirs: unknown;
  readonly ours: unknown;
}

/** The smallest parts that differ. Lists of different lengths differ as a whole. */
export function differences(theirs: unknown, ours: unknown, path: string): Difference[] {
  if (Array.isArray(theirs) && Array.isArray(ours) && theirs.length === ours.length) {
    return theirs.flatMap((each, index) => differences(each, ours[index], `${path}.${index}`));
  }
  if (isRecord(theirs) && isRecord(ours)) {
    if (isAnswer(theirs) && saysElse(theirs, ours)) return [{ path, theirs: gist(theirs), ours: gist(ours) }];
    const keys = new Set([...Object.keys(theirs), ...Object.keys(ours)]);
    return [...keys].flatMap((key) => differences(theirs[key], ours[key], `${path}.${key}`));
  }
  return Object.is(theirs, ours) ? [] : [{ path, theirs, ours }];
}

/** A readable form in which kube-apiserver's lines start with "-" and ours with "+". */
export function render({ path, theirs, ours }: Difference): string {
  const lines = (value: unknown): string[] =>
    (typeof value === "string" ? value : inspect(value, { depth: 12, breakLength: 100, sorted: true })).split("\n");
  const marks = { [-1]: "+", 0: " ", 1: "-" } as const;
  const changes = diff(lines(theirs), lines(ours)) as [-1 | 0 | 1, string][];
  return [`${path}:`, ...changes.map(([operation, line]) => `  ${marks[operation]} ${line}`)].join("\n");
}

function isAnswer(value: Readonly<Record<string, unknown>>): boolean {
  return typeof value["status"] === "number" && "headers" in value;
}

function saysElse(theirs: Readonly<Record<string, unknown>>, ours: Readonly<Record<string, unknown>>): boolean {
  const kind = ({ body }: Readonly<Record<string, unknown>>): unknown => (isRecord(body) ? body["kind"] : undefined);
  return theirs["status"] !== ours["status"] || kind(theirs) !== kind(ours);
}

/** A summary for responses of different kinds. */
function gist({ status, body }: Readonly<Record<string, unknown>>): unknown {
  const { kind, reason, message } = isRecord(body) ? body : {};
  return kind === "Status" ? { status, kind, reason, message } : { status, kind };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
