import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { cannotRun } from "../testing/runtimes.ts";
import { PodLinks } from "./pod-links.ts";
import { runIp, tryIp } from "./run-ip.ts";

const bridge = `asl${process.pid}`;
const netns = `asl-${process.pid}`;
const address = "10.213.7.9";

describe.skipIf(cannotRun)("the links of a Pod", () => {
  const runDir = mkdtempSync(join(tmpdir(), "pod-links-"));
  const open = (): PodLinks =>
    new PodLinks({
      layout: { bridge, runDir },
      gateway: "10.213.7.1",
      interfaceOf: () => `asv${process.pid}`,
      onAttaching: async () => undefined,
      onAttached: () => undefined,
    });
  afterAll(async () => {
    await tryIp([`link del ${bridge}`, `netns del ${netns}`]);
    rmSync(runDir, { recursive: true });
  });

  test("links that a crash left without an address do not count as attached, and are replaced", async () => {
    // The namespace and the links exist when this fails, because there is no bridge.
    await expect(open().attach(netns, address)).rejects.toThrow(bridge);
    const next = open();
    expect(next.isAttached(netns, address)).toBe(false);
    await runIp([`link add ${bridge} type bridge`]);
    await next.attach(netns, address);
    expect(next.isAttached(netns, address)).toBe(true);
    await next.detach(netns, address);
    expect(next.isAttached(netns, address)).toBe(false);
  });
});
