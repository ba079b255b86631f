import { get } from "node:https";
import { text } from "node:stream/consumers";
import type { Server } from "./servers.ts";

export async function scrape({ url, agent }: Pick<Server, "url" | "agent">): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = get(new URL("/metrics", url), { agent }, (response) => {
      text(response).then(resolve, reject);
    });
    asked.once("error", reject);
  });
}

/** The distinct names of samples with the names of their labels, such as `up{a,b}`. */
export function metricShapes(scraped: string): Set<string> {
  const lines = scraped.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Set(
    lines.map((line) => {
      const [name] = /^[^{ ]+/.exec(line) ?? [""];
      const labels = [...line.matchAll(/[{,]([a-z_]+)="(?:[^"\\]|\\.)*"/g)].map(([, label]) => label as string);
      return `${name}{${labels.sort().join(",")}}`;
    }),
  );
}
