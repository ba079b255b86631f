import * as fc from "fast-check";
import { expect, test } from "vitest";
import { configMap, configMaps, TestApi, type Watching } from "../../src/testing/test-api.test.support.ts";

type Step = {
  readonly do: "create" | "replace" | "merge" | "apply" | "delete";
  readonly name: string;
  readonly pause: boolean;
};

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom("create", "create", "replace", "merge", "apply", "delete"),
  name: fc.constantFrom("a", "b", "c", "d"),
  // Whether the writer yields to the others.
  pause: fc.boolean(),
});
const writers = fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 2, maxLength: 5 });

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** The revision of a write, or `undefined` when it was refused or was a delete. */
async function write(api: TestApi, { do: what, name }: Step, value: string): Promise<string | undefined> {
  const path = `${configMaps}/${name}`;
  const object = configMap(name, { data: { value } });
  const send = {
    create: () => api.send("POST", configMaps, object),
    replace: () => api.send("PUT", path, object),
    merge: () => api.merge(path, { data: { value } }),
    apply: () => api.apply(`${path}?force=true`, "writer", object),
    delete: () => api.send("DELETE", path),
  }[what];
  const { status, body } = await send();
  return status < 300 ? (body.metadata?.resourceVersion as string | undefined) : undefined;
}

async function work(api: TestApi, steps: readonly Step[], id: number): Promise<string[]> {
  const revisions: string[] = [];
  for (const [at, each] of steps.entries()) {
    if (each.pause) await turn();
    const revision = await write(api, each, `${id}.${at}`);
    if (revision !== undefined) revisions.push(revision);
  }
  return revisions;
}

interface Seen {
  readonly type: string;
  readonly name: string;
  readonly revision: string;
  readonly value: unknown;
}

/** Reads events until the last object is created. A slow reader waits after each event. */
async function history(watching: Watching, slow: boolean): Promise<Seen[]> {
  const seen: Seen[] = [];
  for (;;) {
    const { type, object } = await watching.next();
    const { name, resourceVersion } = object.metadata;
    if (name === "last") break;
    seen.push({ type, name, revision: resourceVersion, value: object["data"] });
    if (slow) await turn();
  }
  watching.stop();
  return seen;
}

test("every watcher receives the same history in the order of revisions", async () => {
  await fc.assert(
    fc.asyncProperty(writers, async (all) => {
      await using api = await TestApi.start();
      const { body } = await api.send("GET", configMaps);
      const from = `${configMaps}?watch=true&resourceVersion=${body.metadata.resourceVersion}`;
      const reading = [
        history(await api.watch(from), true),
        history(await api.watch(`${from}&allowWatchBookmarks=true`), false),
      ];
      const writing = Promise.all(all.map((steps, id) => work(api, steps, id)));
      await turn();
      reading.push(history(await api.watch(from), false));
      const written = await writing;
      await api.create(configMaps, configMap("last"));
      reading.push(history(await api.watch(from), true));
      const [first = [], ...others] = await Promise.all(reading);
      for (const other of others) expect(other).toEqual(first);
      const revisions = first.map(({ revision }) => Number(revision));
      expect(revisions).toEqual([...new Set(revisions)].toSorted((a, b) => a - b));
      // It contains the revision of every write. A write without changes returns the existing revision.
      expect(written.flat().filter((revision) => !revisions.includes(Number(revision)))).toEqual([]);
    }),
    { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 30) },
  );
});
