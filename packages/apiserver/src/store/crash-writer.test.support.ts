import { writeSync } from "node:fs";
import { systemClock } from "../clock.ts";
import { silentLogger } from "../logger.ts";
import { openStore } from "./open-store.ts";

/** Creates, updates and deletes objects without a pause and prints each acknowledged write. Ends only when it is killed. */

const writers = 16;
const keys = 40;
const folder = process.argv[2] as string;
const store = openStore(folder, {
  clock: systemClock,
  logger: silentLogger,
  history: { maxChanges: 200, maxAgeMs: 60_000 },
});

async function write(writer: number): Promise<never> {
  for (let at = 0; ; at += 1) {
    const key = `k${(writer * 7 + at * 3) % keys}`;
    const value = at % 5 === 4 ? undefined : `${process.pid}-${writer}-${at}-${"x".repeat((at * 97) % 3000)}`;
    const revision = await store.write((_view, next) => {
      const metadata = { name: key, resourceVersion: String(next) };
      const object = value === undefined ? undefined : { apiVersion: "v1", kind: "Thing", metadata, value };
      return { write: { resource: "things", key, object }, result: next };
    });
    writeSync(1, `${JSON.stringify({ key, revision, value })}\n`);
  }
}

await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
