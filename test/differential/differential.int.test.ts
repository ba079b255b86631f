import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureBinaries, ensureOlderKubectl } from "../kube-apiserver/binaries.ts";
import type { Case, KubectlRelease } from "./case.ts";
import { exchangeCases, kubectlCases, loneCases } from "./cases/all-cases.ts";
import { render } from "./compare.ts";
import { Exceptions } from "./exceptions.ts";
import { knownDifferences } from "./known-differences.ts";
import { metricShapes, scrape } from "./metric-shapes.ts";
import { runCase } from "./run-case.ts";
import { type ServerPair, startServers } from "./servers.ts";

const longTimeout = { timeout: 180_000 };

// Outside the timeout of a test, because the first run on a machine compiles Kubernetes.
await Promise.all([ensureBinaries(), ensureOlderKubectl()]);

const known = new Exceptions(knownDifferences);
let pair: ServerPair;

/** The unexpected differences as text. */
async function unexpectedDifferences(testCase: Case, release: KubectlRelease = "same"): Promise<string> {
  const found = known.unexpected(testCase.name, await runCase(pair, testCase, release));
  return found.map(render).join("\n\n");
}

describe("kube-apiserver and the embedded API server", () => {
  beforeAll(async () => {
    pair = await startServers();
  });

  afterAll(async () => {
    await pair?.[Symbol.asyncDispose]();
  });

  describe.concurrent("give the same output to kubectl", () => {
    test.for(kubectlCases)("$name", longTimeout, async (testCase, { expect }) => {
      expect(await unexpectedDifferences(testCase)).toBe("");
    });
  });

  describe.concurrent("give the same output to an older kubectl", () => {
    const cases = kubectlCases.filter(({ newOnly = false }) => !newOnly);
    test.for(cases)("$name", longTimeout, async (testCase, { expect }) => {
      expect(await unexpectedDifferences(testCase, "older")).toBe("");
    });
  });

  describe.concurrent("give the same responses", () => {
    test.for(exchangeCases)("$name", longTimeout, async (testCase, { expect }) => {
      expect(await unexpectedDifferences(testCase)).toBe("");
    });
  });

  describe("give the same responses to requests that affect other cases", () => {
    test.for(loneCases)("$name", longTimeout, async (testCase) => {
      expect(await unexpectedDifferences(testCase)).toBe("");
    });
  });

  test("have the same names of metrics", async () => {
    const [theirs, ours] = await Promise.all([pair.theirs, pair.ours].map(scrape));
    const known = metricShapes(theirs ?? "");
    const shapes = [...metricShapes(ours ?? "")];
    expect(shapes.length).toBeGreaterThan(10);
    expect(shapes.filter((shape) => !known.has(shape))).toEqual([]);
  });

  test("every known difference still exists", () => {
    expect(known.unused).toEqual([]);
  });
});
