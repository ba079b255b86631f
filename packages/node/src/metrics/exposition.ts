import { Exposition, labelText } from "@agent-sandbox/api";

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly samples: readonly Sample[];
}

/** Prometheus' text format. Families without samples are left out. */
export function exposition(families: readonly Family[]): string {
  const text = new Exposition();
  for (const { name, help, type, samples } of families) {
    if (samples.length > 0) text.metric(name, type, help);
    for (const { labels, value } of samples) text.sample(name, labelText(labels), value);
  }
  return text.toString();
}
