import { expect, test } from "vitest";
import type { PodRecord } from "../pod/record.ts";
import { claimsOf, runningUserOf } from "./claim-users.ts";

const folder = "/data/node/volumes/u-1";
const record = (more: Partial<PodRecord>): PodRecord => ({
  version: 1,
  uid: "p",
  namespace: "n",
  name: "pod",
  address: "10.0.0.2",
  startTime: 0,
  prepared: true,
  containers: {},
  ...more,
});
const volumes = { v: { path: folder } };

test.for([
  ["no Pod", [], undefined],
  ["a Pod with the folder", [record({ volumes })], "n/pod"],
  ["a Pod of another namespace with the folder", [record({ volumes, namespace: "other" })], "other/pod"],
  ["a Pod with other folders", [record({ volumes: { v: { path: `${folder}2` } } })], undefined],
  ["a Pod that has finished", [record({ volumes, released: true })], undefined],
  ["a Pod whose volumes are being created", [record({ prepared: false })], "n/pod"],
  ["such a Pod of another namespace", [record({ prepared: false, namespace: "other" })], undefined],
  ["a record that cannot be read", [undefined], "0"],
] as const)("who runs with a folder: %s", async ([, records, expected]) => {
  const list = async (): Promise<Map<string, PodRecord | undefined>> =>
    new Map(records.map((one, index) => [String(index), one]));
  expect(await runningUserOf({ list }, { folder, namespace: "n" })).toBe(expected);
});

test.for([
  ["Running", ["n/data"]],
  ["Succeeded", []],
  ["Failed", []],
] as const)("the claims of a Pod that is %s", ([phase, expected]) => {
  const spec = {
    containers: [],
    volumes: [
      { name: "v", persistentVolumeClaim: { claimName: "data" } },
      { name: "w", emptyDir: {} },
    ],
  };
  expect(claimsOf({ metadata: { namespace: "n" }, spec, status: { phase } })).toEqual(expected);
});
