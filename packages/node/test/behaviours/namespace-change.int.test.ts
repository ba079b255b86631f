import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { namespaces } from "../../src/resources.ts";
import { cannotRun, testedRuntimes } from "../../src/testing/runtimes.ts";
import { isReady, namespace } from "../../src/testing/test-api.ts";
import { openTestBox, soon, type TestBox } from "../../src/testing/test-box.ts";

describe.skipIf(cannotRun)("while a Namespace changes", () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox();
    await box.api.client.create(namespaces, { metadata: { name: namespace } });
  });
  afterAll(() => box[Symbol.asyncDispose]());

  test.for(testedRuntimes)("each container of its Pods is created once, with %s", async (runtimeClassName) => {
    const name = `twice-${runtimeClassName}`;
    const containers = ["one", "two"].map((each) => ({ name: each, image: "host", command: ["sleep", "infinity"] }));
    await box.create(name, { spec: { runtimeClassName, containers } });
    const ready = box.api.until(name, isReady);
    const started = new AbortController();
    const stopChanges = ready.finally(() => started.abort());
    for (let change = 0; !started.signal.aborted; change += 1) {
      const body = { metadata: { labels: { change: `${change}` } } };
      await box.api.client.patch(namespaces, { name: namespace }, { type: "merge", body });
      await sleep(5);
    }
    await stopChanges;
    const outcomes = (): string[] => box.events(name).filter((event) => /^(?:Created|Started|Failed)/.test(event));
    await expect.poll(() => outcomes().length, soon).toBeGreaterThanOrEqual(4);
    expect(outcomes().toSorted()).toEqual([
      "Created: Created container: one",
      "Created: Created container: two",
      "Started: Started container one",
      "Started: Started container two",
    ]);
    await box.remove(name);
  });
});
