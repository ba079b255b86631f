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
  restExtensions,
  processes,
  daemon,
  abuse,
  naming,
  forwarding,
  connections,
  errors,
  auth,
  improvements,
};
const runtimes = ["runc", "gvisor"] as const;

describe.skipIf(reason !== undefined)("the data plane", () => {
  let box: DataPlaneBox;
  const worlds: Partial<Record<(typeof runtimes)[number], Omit<World, "expect">>> = {};

  beforeAll(async () => {
    box = await DataPlaneBox.start();
    const [runc, gvisor] = await box.subjects(runtimes.map((runtime) => manifest({ name: `on-${runtime}`, runtime })));
    if (runc === undefined || gvisor === undefined) throw new Error("there are no sandboxes");
    worlds.runc = { box, subject: runc, neighbour: gvisor, slow: startSlowThings(box, runc) };
    worlds.gvisor = { box, subject: gvisor, neighbour: runc, slow: startSlowThings(box, gvisor) };
  });
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  describe.each(runtimes)("on %s", (runtime) => {
    describe.each(Object.entries(groups))("%s", (_, rows) => {
      test.for(Object.entries(rows))("%s", async ([, run], { expect }) => {
        expect.hasAssertions();
        await run({ ...worlds[runtime], expect } as World);
      });
    });
  });

  test("every item of the checklist has its test", () => {
    const tested = Object.entries(groups).map(([group, rows]) => [group, Object.keys(rows).sort()]);
    const wanted = Object.entries(checklist).map(([group, items]) => [group, [...items].sort()]);
    expect(Object.fromEntries(tested)).toEqual(Object.fromEntries(wanted));
  });
});
