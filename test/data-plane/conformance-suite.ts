import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoBox } from "../e2e/box.ts";
import { checklist, type Run } from "./checklist.ts";
import { DataPlaneBox } from "./data-plane-box.ts";
import { manifest } from "./manifest.ts";
import { abuse } from "./rows/abuse.ts";
import { auth } from "./rows/auth.ts";
import { connections } from "./rows/connections.ts";
import { daemon } from "./rows/daemon.ts";
import { errors } from "./rows/errors.ts";
import { forwarding } from "./rows/forwarding.ts";
import { improvements } from "./rows/improvements.ts";
import { legacy } from "./rows/legacy.ts";
import { naming } from "./rows/naming.ts";
import { processes } from "./rows/processes.ts";
import { rest } from "./rows/rest.ts";
import { restExtensions } from "./rows/rest-extensions.ts";
import { startSlowThings } from "./slow-things.ts";
import type { World } from "./world.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const groups: Record<string, Readonly<Record<string, Run>>> = {
  legacy,
  rest,
  processes,
  daemon,
  abuse,
  naming,
  forwarding,
  connections,
  errors,
  auth,
  improvements,
  // The last, because it waits for the end of a lease that begins before the first test.
  restExtensions,
};
type Runtime = "runc" | "gvisor";

/**
 * The same tests for each runtime. Each runtime has its own file and box, so that both can run at the same time; the neighbour is a
 * sandbox on the other runtime.
 */
export function describeConformance(runtime: Runtime): void {
  describe.skipIf(reason !== undefined)(`the data plane on ${runtime}`, () => {
    let box: DataPlaneBox;
    let world: Omit<World, "expect">;

    beforeAll(async () => {
      box = await DataPlaneBox.start();
      const order: readonly Runtime[] = runtime === "runc" ? ["runc", "gvisor"] : ["gvisor", "runc"];
      const [subject, neighbour] = await box.subjects(
        order.map((each) => manifest({ name: `on-${each}`, runtime: each })),
      );
      if (subject === undefined || neighbour === undefined) throw new Error("there are no sandboxes");
      world = { box, subject, neighbour, slow: startSlowThings(box, subject) };
    });
    afterAll(async () => await box?.[Symbol.asyncDispose]());

    describe.each(Object.entries(groups))("%s", (_, rows) => {
      test.for(Object.entries(rows))("%s", async ([, run], { expect }) => {
        expect.hasAssertions();
        await run({ ...world, expect });
      });
    });
  });
}

test("every item of the checklist has its test", () => {
  const tested = Object.entries(groups).map(([group, rows]) => [group, Object.keys(rows).sort()]);
  const wanted = Object.entries(checklist).map(([group, items]) => [group, [...items].sort()]);
  expect(Object.fromEntries(tested)).toEqual(Object.fromEntries(wanted));
});
