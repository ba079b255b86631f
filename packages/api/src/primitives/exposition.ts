/** The content type of Prometheus' text format, version 0.0.4. */
export const expositionType = "text/plain; version=0.0.4; charset=utf-8";

/** Labels in the form that stands between the braces. Compute it once for each series, not at each scrape. */
export function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escaped)}"`)
    .join(",");
}

const escaped = (character: string): string => (character === "\n" ? "\\n" : `\\${character}`);

/** Writes Prometheus' text format: each metric is followed by its samples. */
export class Exposition {
  readonly #lines: string[] = [];

  metric(name: string, type: "counter" | "gauge" | "histogram", help: string): void {
    this.#lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
  }

  /** `labels` comes from `labelText()`. */
  sample(name: string, labels: string, value: number): void {
    this.#lines.push(labels === "" ? `${name} ${value}` : `${name}{${labels}} ${value}`);
  }

  toString(): string {
    return this.#lines.length === 0 ? "" : `${this.#lines.join("\n")}\n`;
  }
}
