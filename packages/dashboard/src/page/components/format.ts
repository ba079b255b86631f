/** Amounts and times as people read them. Pure. */

const binary = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** As in `12.3 MiB`. */
export function formatBytes(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < binary.length - 1) {
    amount /= 1024;
    unit++;
  }
  return `${amount >= 100 || unit === 0 ? Math.round(amount) : amount.toFixed(1)} ${binary[unit]}`;
}

/** As in `1.25`, or `40m` for thousandths. */
export function formatCores(cores: number): string {
  if (cores === 0) return "0m";
  return cores < 1 ? `${Math.max(1, Math.round(cores * 1000))}m` : cores.toFixed(2);
}

/** As in `340 ms`, `1.2 s`, `3 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 2 * 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 2 * 86_400_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}

/** How long ago, with one unit, as in `5 s`, `12 min`, `3 h`, `9 d`. */
export function formatAge(ms: number): string {
  if (!Number.isFinite(ms)) return "";
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

const suffixes: Readonly<Record<string, number>> = {
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

/** A number, and a suffix or an exponent: `1E` is exa, and `1E3` a thousand. */
const quantity = /^(\d+(?:\.\d*)?|\.\d+)(?:([numkKMGTPE]i?)|[eE]([+-]?\d{1,2}))?$/;

/** A Kubernetes quantity that is not negative, such as `250m`, `64Mi` or `1e9`. Undefined if it is not one. */
export function readQuantity(text: string | undefined): number | undefined {
  const [, digits = "", suffix = "", exponent = "0"] = quantity.exec(text ?? "") ?? [];
  const factor = suffixes[suffix];
  return digits === "" || factor === undefined ? undefined : Number(digits) * factor * 10 ** Number(exponent);
}

/** Local time or UTC, to the second. */
export function formatTime(ms: number, zone: "local" | "utc"): string {
  if (!Number.isFinite(ms)) return "";
  if (zone === "utc") return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const at = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
