const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Reads a duration as Go's flags do: `5m`, `1m30s`, `-2s`, `0`. Undefined when it is none. */
export function parseGoDuration(text: string): number | undefined {
  const [, sign, rest = ""] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (rest === "0") return 0;
  if (!/^((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+$/.test(rest)) return undefined;
  let total = 0;
  for (const [, number = "", unit = ""] of rest.matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(number) * (unitMs[unit] ?? Number.NaN);
  }
  return sign === "-" ? -total : total;
}
