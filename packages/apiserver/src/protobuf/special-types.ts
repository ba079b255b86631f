import { WireProblem } from "./wire.ts";

/** A decoded message with all its fields, including empty ones. */
export type RawMessage = Readonly<Record<string, unknown>>;

const machinery = "k8s.io.apimachinery.pkg.";

/** Types that are not objects in JSON. `undefined` means that the value is left out. */
export const specialTypes: ReadonlyMap<string, (message: RawMessage) => unknown> = new Map([
  [`${machinery}apis.meta.v1.Time`, (time: RawMessage) => writeTime(time, 0)],
  [`${machinery}apis.meta.v1.MicroTime`, (time: RawMessage) => writeTime(time, 6)],
  [`${machinery}apis.meta.v1.FieldsV1`, ({ "-": raw }: RawMessage) => parseRaw(raw)],
  [`${machinery}api.resource.Quantity`, ({ string }: RawMessage) => string],
  [
    `${machinery}util.intstr.IntOrString`,
    ({ type, intVal, strVal }: RawMessage) => (type === 1 ? (strVal ?? "") : (intVal ?? 0)),
  ],
  ["k8s.io.api.authentication.v1.ExtraValue", ({ items }: RawMessage) => items ?? []],
  ["k8s.io.api.authorization.v1.ExtraValue", ({ items }: RawMessage) => items ?? []],
]);

/** Go's zero time is left out. */
function writeTime({ seconds, nanos }: RawMessage, digits: number): string | undefined {
  if (seconds === undefined && nanos === undefined) return undefined;
  const atMs = Number(seconds ?? 0) * 1000;
  if (Math.abs(atMs) > 8.64e15) throw new WireProblem("a time is beyond all calendars");
  const whole = new Date(atMs).toISOString().slice(0, -5);
  const fraction = String(Number(nanos ?? 0))
    .padStart(9, "0")
    .slice(0, digits);
  return `${whole}${digits === 0 ? "" : `.${fraction}`}Z`;
}

function parseRaw(raw: unknown): unknown {
  if (typeof raw !== "string" || raw === "") return undefined;
  try {
    return JSON.parse(Buffer.from(raw, "base64").toString("utf8"));
  } catch {
    throw new WireProblem("a part of it that should be JSON is not");
  }
}
