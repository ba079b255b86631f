import { randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { fuzz } from "./fuzz-run.ts";

const seconds = 10;

const longTimeout = { timeout: 180_000 };

test(`${seconds} seconds of invalid requests cause no crash, no hang, no 500 and no leak`, longTimeout, async () => {
  const seed = Number(process.env["FUZZ_SEED"] ?? randomInt(2 ** 31));
  const { statuses, failures } = await fuzz({ seed, seconds, atLeast: 500 });
  const again = `node --conditions=source packages/apiserver/test/fuzz/main.ts --seed ${seed}`;
  expect({ again, failures }).toEqual({ again, failures: [] });
  // If all cases were refused early, the test would show nothing.
  expect([200, 201, 422].filter((status) => !statuses.has(status))).toEqual([]);
});
