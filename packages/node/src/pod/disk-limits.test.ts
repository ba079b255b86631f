import type { Pod } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { layoutOf } from "../layout.ts";
import { diskLimitsOf, excessOf } from "./disk-limits.ts";

const layout = layoutOf("/data");
const pod: Pod = {
  spec: {
    containers: [{ name: "main", resources: { limits: { "ephemeral-storage": "1Ki" } } }, { name: "other" }],
    volumes: [
      { name: "small", emptyDir: { sizeLimit: "100" } },
      { name: "free", emptyDir: {} },
      { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1" } },
    ],
  },
};
const at = "/data/node/pods/u-1";
const excess = (usage: Record<string, number>, keptFor?: string): string | undefined =>
  excessOf(
    diskLimitsOf({ ...pod, metadata: { uid: "u-1" } }, { layout, keptFor }, 10_000),
    new Map(Object.entries(usage)),
  )?.message;

test.for([
  ["nothing", {}, undefined],
  ["exactly at the limits", { [`${at}/volumes/small`]: 100, [`${at}/containers/main/upper`]: 1024 }, undefined],
  [
    "a volume above its size limit",
    { [`${at}/volumes/small`]: 101 },
    'Usage of EmptyDir volume "small" exceeds the limit "100". ',
  ],
  [
    "a container whose layer and logs together exceed its limit",
    { [`${at}/containers/main/upper`]: 1000, [`${at}/containers/main/logs`]: 25 },
    'Container main exceeded its local ephemeral storage limit "1Ki". ',
  ],
  [
    "a Pod above the limit of the node",
    { [`${at}/containers/other/upper`]: 6000, [`${at}/volumes/free`]: 4001 },
    'Pod ephemeral local storage usage exceeds the limit of this node "10000". ',
  ],
  ["volumes in memory do not count", { [`${at}/volumes/memory`]: 20_000 }, undefined],
] as const)("above the limit: %s", ([, usage, message]) => {
  expect(excess(usage)).toBe(message);
});

test("a kept root filesystem is counted at its own path", () => {
  const usage = { "/data/node/kept/s-1/main/upper": 2000 };
  expect([excess(usage), excess(usage, "s-1")]).toEqual([
    undefined,
    expect.stringContaining("Container main exceeded"),
  ]);
});
