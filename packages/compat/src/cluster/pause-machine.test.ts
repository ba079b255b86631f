import { suspendAtAnnotation } from "@agent-sandbox/api";
import { createClient } from "@agent-sandbox/kube";
import { expect, test } from "vitest";
import { ask, CompatWorld } from "../compat-world.test.support.ts";

interface Written {
  readonly isSuspended: boolean;
  /** The deadline that deletes the machine, and the one that suspends it. */
  readonly deletes: boolean;
  readonly suspends: boolean;
}

function state(world: CompatWorld): Written {
  const [claim, sandbox] = [world.claims()[0], world.sandboxes()[0]];
  return {
    isSuspended: sandbox?.spec.operatingMode === "Suspended",
    deletes: typeof claim?.spec.lifecycle?.shutdownTime === "string",
    suspends: sandbox?.metadata.annotations?.[suspendAtAnnotation] !== undefined,
  };
}

const protocols = [
  {
    name: "E2B",
    create: ["/e2b/v2/sandboxes", { templateID: "base", timeout: 600 }, "sandboxID"],
    pause: (id: string) => `/e2b/sandboxes/${id}/pause`,
    resume: (id: string) => `/e2b/v2/sandboxes/${id}/connect`,
  },
  {
    name: "OpenSandbox",
    create: ["/v1/sandboxes", { templateId: "base", resourceLimits: {}, timeout: 600 }, "id"],
    pause: (id: string) => `/v1/sandboxes/${id}/pause`,
    resume: (id: string) => `/v1/sandboxes/${id}/resume`,
  },
] as const;

test.for(protocols)("a server of $name that ends while it pauses or resumes loses nothing", async (protocol) => {
  await using world = await CompatWorld.start();
  const states: Written[] = [];
  let left = Infinity;
  // It ends after some writes: the later ones do not arrive.
  const client = createClient(
    world.server.connect(({ verb }) => {
      if (verb !== "patch") return undefined;
      return left-- > 0 ? undefined : { refuse: { reason: "Forbidden" } };
    }),
  );
  world.server.onChange(() => states.push(state(world)));
  const compat = await world.listen(client);
  const [path, body, idField] = protocol.create;
  const created = await ask(compat, "POST", path, { body });
  expect(created).toMatchObject({ status: protocol.name === "E2B" ? 201 : 202 });
  const id = String(created.body[idField]);
  await expect.poll(() => world.sandboxes()[0]?.status?.conditions?.length).toBe(2);
  for (const way of ["pause", "resume"] as const) {
    for (let writes = 0; ; writes++) {
      states.length = 0;
      left = writes;
      const { status } = await ask(compat, "POST", protocol[way](id), { body: {} });
      left = Infinity;
      // A machine that is suspended has no deadline that deletes it, and one that runs has a deadline.
      const wrong = states.filter((at) => (at.isSuspended ? at.deletes : !at.deletes && !at.suspends));
      expect([way, writes, wrong]).toEqual([way, writes, []]);
      if (status < 300) break;
      expect(status).toBe(403);
      // The state of a sandbox that was suspended by a write that was the last one.
      if (state(world).isSuspended === (way === "pause")) break;
    }
    await expect.poll(() => world.sandboxes()[0]?.spec.operatingMode).toBe(way === "pause" ? "Suspended" : "Running");
  }
});
