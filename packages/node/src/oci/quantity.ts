const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A Kubernetes quantity (`500m`, `1.5Gi`, `2e3`) as a number, or undefined when it is none. */
export function parseQuantity(text: string | number): number | undefined {
  const parts = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([A-Za-z]{0,2}))$/.exec(String(text).trim());
  if (parts === null) return undefined;
  const factor = parts[2] === undefined ? factors[parts[3] ?? ""] : Number(`1${parts[2]}`);
  return factor === undefined ? undefined : Number(parts[1]) * factor;
}
