/** The text format of Prometheus, version 0.0.4. */
export const expositionType = "text/plain; version=0.0.4; charset=utf-8";

/** Labels as they stand between the braces. Written once for each series, not for each scrape. */
export function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escaped)}"`)
    .join(",");
}

const escaped = (character: string): string => (character === "\n" ? "\\n" : `\\${character}`);

export class Exposition {
  readonly #lines: string[] = [];

  /** Begins a metric: its samples follow. */
  metric(name: string, type: "counter" | "gauge" | "histogram", help: string): void {
    this.#lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
  }

  sample(name: string, labels: string, value: number): void {
    this.#lines.push(labels === "" ? `${name} ${value}` : `${name}{${labels}} ${value}`);
  }

  toString(): string {
    return `${this.#lines.join("\n")}\n`;
  }
}
