/** The samples of a scrape by name and labels. Throws on invalid text. */
export function samplesOf(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.trimEnd().split("\n")) {
    if (/^# (?:HELP|TYPE) [a-z_]+ \S/.test(line)) continue;
    const [, name, value] = /^([a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\]|\\.)*",?)*\})?) (\S+)$/.exec(line) ?? [];
    if (name === undefined || samples.has(name) || !Number.isFinite(Number(value))) {
      throw new Error(`Cannot read the sample "${line}"`);
    }
    samples.set(name, Number(value));
  }
  return samples;
}

/** The sum of a metric's samples that have all the given labels. */
export function total(text: string, metric: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  let sum = 0;
  for (const [name, value] of samplesOf(text)) {
    const written = name
      .slice(metric.length)
      .replace(/^\{|\}$/g, "")
      .split(",");
    if (name.split("{", 1)[0] === metric && wanted.every((label) => written.includes(label))) sum += value;
  }
  return sum;
}
