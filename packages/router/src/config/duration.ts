const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Reads a duration as Go writes it: `30s`, `1m30s`, `200ms`, `0`. Undefined when it is none. */
export function parseDurationMs(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, number = "", unit = ""] of text.matchAll(/(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(number) * (unitMs[unit] ?? Number.NaN);
  }
  return total;
}
