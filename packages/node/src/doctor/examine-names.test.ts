import { expect, test } from "vitest";
import { examineNames } from "./examine-names.ts";

test.for([
  ["127.0.0.1", "ok"],
  ["::1", "ok"],
  // A DNS server that answers every name with its own address.
  ["203.0.113.7", "lacking"],
  [undefined, "lacking"],
] as const)("names below localhost that resolve to %s are %s", async ([address, state]) => {
  const resolve = async (): Promise<{ address: string }> => {
    if (address === undefined) throw new Error("ENOTFOUND");
    return { address };
  };
  expect((await examineNames(resolve)).state).toBe(state);
});
