import type { Pod } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allowedRuntimesAnnotation } from "../pod/namespace-rules.ts";
import { namespaces } from "../resources.ts";
import { cannotRun } from "../testing/runtimes.ts";
import { isReady, namespace } from "../testing/test-api.ts";
import { openTestBox, statusOf, type TestBox } from "../testing/test-box.ts";

const refusalOf = (pod: Pod | undefined): string | undefined => statusOf(pod)?.state?.waiting?.message;
const isRefused = (pod: Pod | undefined): boolean => refusalOf(pod) !== undefined;

describe.skipIf(cannotRun)("the runtimes that a Namespace allows", () => {
  let box: TestBox;
  beforeAll(async () => {
    // Only the default, gVisor, is allowed.
    box = await openTestBox({ allowedRuntimes: [] });
    await box.api.client.create(namespaces, { metadata: { name: namespace } });
  });
  afterAll(() => box?.[Symbol.asyncDispose]());

  async function allow(text: string | null): Promise<void> {
    const body = { metadata: { annotations: { [allowedRuntimesAnnotation]: text } } };
    await box.api.client.patch(namespaces, { name: namespace }, { type: "merge", body });
  }

  test("a Pod with runc waits until its Namespace allows runc, and keeps it afterwards", async () => {
    await box.create("patient", { spec: { runtimeClassName: "runc" } });
    const refused = await box.api.until("patient", isRefused);
    expect(refusalOf(refused)).toContain('runtime "runc" is not allowed in namespace "default"; allowed: gvisor.');
    expect(box.events("patient").join("\n")).toContain('runtime "runc" is not allowed in namespace "default"');

    await allow("gvisor,runc");
    expect(statusOf(await box.api.until("patient", isReady))?.containerID).toMatch(/^runc:/);

    await allow(null);
    await box.create("late", { spec: { runtimeClassName: "runc" } });
    await box.api.until("late", isRefused);
    expect(await box.shell("patient", "echo alive")).toBe("alive");
    expect(statusOf(box.api.read("patient"))?.state?.running).toBeDefined();
    await Promise.all([box.remove("patient"), box.remove("late")]);
  });

  test("a Pod that names no runtime gets one that its Namespace allows", async () => {
    await allow("runc");
    await box.create("plain", {});
    expect(statusOf(await box.api.until("plain", isReady))?.containerID).toMatch(/^runc:/);
    await box.create("other", { spec: { runtimeClassName: "gvisor" } });
    expect(refusalOf(await box.api.until("other", isRefused))).toContain('"gvisor" is not allowed');
    await allow(null);
    // The Pod is checked again when its Namespace changes.
    expect(statusOf(await box.api.until("other", isReady))?.containerID).toMatch(/^gvisor:/);
    await Promise.all([box.remove("plain"), box.remove("other")]);
  });

  test("unknown runtime names allow nothing", async () => {
    await allow("kata, runsc");
    await box.create("nowhere", {});
    expect(refusalOf(await box.api.until("nowhere", isRefused))).toContain("allowed: none of this machine");
    await allow(null);
    await box.api.until("nowhere", isReady);
    await box.remove("nowhere");
  });
});
