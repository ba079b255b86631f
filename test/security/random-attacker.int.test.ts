import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Random } from "../../packages/apiserver/test/fuzz/random.ts";
import { attack } from "./random/attack.ts";
import { hostileObject } from "./random/hostile-object.ts";
import { type Prey, preyOf } from "./random/hostile-values.ts";
import { servedKinds } from "./random/served-kinds.ts";
import { type StartedWorld, startWorld } from "./start-world.ts";
import { noWorld } from "./why-no-world.ts";
import { World } from "./world.ts";

const isLong = process.env["SECURITY"] === "long";
const seconds = Number(process.env["ATTACK_SECONDS"] ?? (isLong ? 600 : 10));
const patience = { timeout: (10 * seconds + 180) * 1000 };

/** Runs on a separate box, so that the monitor does not report changes by other files. */
describe.skipIf(noWorld)("a tenant that performs random actions", () => {
  const folder = mkdtempSync(join(tmpdir(), "agent-sandbox-security-"));
  let started: StartedWorld;
  let world: World;
  beforeAll(async () => {
    started = await startWorld(folder);
    world = new World(started.record);
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await started?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Each of these was once a successful attack. The generator must produce them, or the test would prove nothing. */
  test.for<[string, string, (text: string, prey: Prey) => boolean]>([
    [
      "a Service with the victim's address",
      "services",
      (text, { victims }) => text.includes(`"clusterIP":"${victims[0]}"`),
    ],
    ["a range of ports that ends before it begins", "networkpolicies", (text) => /"port":80,"endPort":22\b/.test(text)],
    ["exceptions that are no part of the block", "networkpolicies", (text) => /"except":\["0\.0\.0\.0\/0"/.test(text)],
    [
      "a Pod that asks for the victim's files",
      "pods",
      (text, { uids }) => text.includes(`"agents.x-k8s.io/keep-rootfs":"${uids[0]}"`),
    ],
    [
      "a Pod owned by the victim's Sandbox",
      "pods",
      (text, { uids }) => text.includes(`"uid":"${uids[0]}","controller":true`),
    ],
    ["a probe of the link-local address", "pods", (text) => text.includes('"host":"169.254.169.254"')],
    ["a mount over the devices", "pods", (text) => text.includes('"mountPath":"/dev"')],
    [
      "a volume of the victim",
      "persistentvolumeclaims",
      (text, { uids }) => text.includes(`"volumeName":"pvc-${uids[2]}"`),
    ],
    ["a member of a pool", "sandboxes", (text) => text.includes('"agents.x-k8s.io/warm-pool-sandbox"')],
    ["endpoints at the victim's address", "endpointslices", (text, { victims }) => text.includes(victims[0] ?? "none")],
  ])("generates %s", async ([, plural, isIt]) => {
    await using mallory = await world.tenant();
    const kind = (await servedKinds(mallory)).find((each) => each.plural === plural);
    const [random, prey] = [new Random(1), preyOf(world)];
    const draw = (): string => JSON.stringify(kind && hostileObject(random, kind, "m0", prey, world.runtimes));
    expect(Array.from({ length: 20_000 }).some(() => isIt(draw(), prey))).toBe(true);
  });

  test(`for ${seconds} seconds harms neither the victim nor the machine`, patience, async () => {
    const seed = Number(process.env["ATTACK_SEED"] ?? randomInt(2 ** 31));
    const again = `ATTACK_SEED=${seed} ATTACK_SECONDS=${seconds} npx vitest run --project security random-attacker`;
    console.log(again);
    await using mallory = await world.tenant();
    const { violations, statuses, actions, calls, looks, rounds } = await attack(world, mallory, { seed, seconds });
    const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
    console.log(
      `${actions} actions (${counts.join(", ")}); the victim: ${calls} calls, ${rounds} Pods and policies; ${looks} looks at the machine`,
    );
    expect({ again, violations }).toEqual({ again, violations: [] });
    // An attacker whose requests are all refused would prove nothing.
    expect([200, 201, 403, 422].filter((status) => !statuses.has(status))).toEqual([]);
  });
});
