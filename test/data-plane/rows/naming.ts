import { sandboxes } from "@agent-sandbox/api";
import { ask } from "../ask.ts";
import type { Rows } from "../checklist.ts";
import { podAddress } from "../pod-facts.ts";
import { ports } from "../subject.ts";
import { routerWith, type World } from "../world.ts";

/** The router's response to these headers with a valid credential. */
async function refusal({ subject }: World, headers: Record<string, string>): Promise<[number, string]> {
  const { status, text } = await ask(subject.router, "/", {
    headers: { authorization: `Bearer ${subject.token}`, ...headers },
  });
  return [status, text];
}

const bad = (detail: string): [number, string] => [400, JSON.stringify({ detail })];

export const naming: Rows<"naming"> = {
  "each invalid header has its established error": async (world) => {
    const { expect } = world;
    const id = { "X-Sandbox-ID": world.subject.name };
    expect(await refusal(world, {})).toEqual(bad("X-Sandbox-ID header is required."));
    expect(await refusal(world, { "X-Sandbox-ID": "" })).toEqual(bad("X-Sandbox-ID header is required."));
    for (const name of ["Not.A.Label", "UPPER", "-a", "a-", "a_b", "a/b"]) {
      expect(await refusal(world, { "X-Sandbox-ID": name })).toEqual(bad("Invalid sandbox ID format."));
    }
    for (const namespace of ["a.b", "A", "-"]) {
      const answer = await refusal(world, { ...id, "X-Sandbox-Namespace": namespace });
      expect(answer).toEqual(bad("Invalid namespace format."));
    }
    for (const port of ["http", "0", "65536", "-1", "80x", "8 0"]) {
      expect(await refusal(world, { ...id, "X-Sandbox-Port": port })).toEqual(bad("Invalid port format."));
    }
    expect(await refusal(world, { ...id, "X-Sandbox-Pod-IP": "nonsense" })).toEqual(bad("Invalid target IP address."));
  },

  "the first invalid header is reported": async (world) => {
    const { expect } = world;
    const wrong = {
      "X-Sandbox-ID": "A",
      "X-Sandbox-Namespace": "A",
      "X-Sandbox-Port": "x",
      "X-Sandbox-Pod-IP": "x",
    };
    const id = { ...wrong, "X-Sandbox-ID": world.subject.name };
    const namespace = { ...id, "X-Sandbox-Namespace": "default" };
    expect(await refusal(world, wrong)).toEqual(bad("Invalid sandbox ID format."));
    expect(await refusal(world, id)).toEqual(bad("Invalid namespace format."));
    expect(await refusal(world, namespace)).toEqual(bad("Invalid port format."));
    expect(await refusal(world, { ...namespace, "X-Sandbox-Port": "80" })).toEqual(bad("Invalid target IP address."));
    // Invalid headers are reported before the credential is checked.
    const nobody = await ask(world.subject.router, "/", { headers: wrong });
    expect([nobody.status, nobody.text]).toEqual(bad("Invalid sandbox ID format."));
  },

  "namespace and port have defaults": async (world) => {
    const { expect } = world;
    const health = [200, '{"status":"ok","message":"Sandbox Runtime is active."}'];
    expect(await refusal(world, { "x-sandbox-id": world.subject.name })).toEqual(health);
    expect(await refusal(world, { "X-SANDBOX-ID": world.subject.name, "X-Sandbox-Namespace": "" })).toEqual(health);
  },

  "labels have at most 63 characters": async (world) => {
    const { expect } = world;
    expect(await refusal(world, { "X-Sandbox-ID": "a".repeat(64) })).toEqual(bad("Invalid sandbox ID format."));
    expect((await refusal(world, { "X-Sandbox-ID": "a".repeat(63) }))[0]).toBe(404);
  },

  "sandboxes are named by header, host and path": async ({ expect, subject }) => {
    const { name, router, token } = subject;
    const authorization = `Bearer ${token}`;
    const byHost = await ask(router, "/x?y", { headers: { authorization, host: `8000-${name}.default.localhost` } });
    const byPath = await ask(router, `/sandboxes/default/${name}/8000/x?y`, { headers: { authorization } });
    const byHeader = await subject.ask(ports.workload, "/x?y");
    const targets = [byHost, byPath, byHeader].map(({ text }) => (JSON.parse(text) as { target: string }).target);
    expect(targets).toEqual(["/x?y", "/x?y", "/x?y"]);
    const runtime = await ask(router, "/", { headers: { authorization, host: `${name}.default.localhost:1234` } });
    expect(runtime.text).toContain("Sandbox Runtime is active.");
    // A page of one sandbox must not reach another by adding a header.
    const both = { authorization, host: `8000-${name}.default.localhost`, "x-sandbox-id": "another" };
    expect((await ask(router, "/", { headers: both })).status).toBe(400);
  },

  "a claim's name routes to its sandbox": async ({ expect, subject, box }) => {
    await box.claimed();
    const { status, text } = await ask(subject.router, "/who", {
      headers: { authorization: `Bearer ${subject.token}`, "x-sandbox-id": "mine", "x-sandbox-port": "8000" },
    });
    expect([status, JSON.parse(text)]).toEqual([200, expect.objectContaining({ target: "/who" })]);
  },

  "an unclaimed pool member is reached only by its UID": async ({ expect, subject, box }) => {
    const { name, uid } = await box.poolMember();
    const at = (headers: Record<string, string>) =>
      ask(subject.router, "/who", {
        headers: {
          authorization: `Bearer ${subject.token}`,
          "x-sandbox-id": name,
          "x-sandbox-port": "8000",
          ...headers,
        },
      });
    expect([(await at({})).status, (await at({ "x-sandbox-uid": uid })).status]).toEqual([404, 200]);
  },

  "a UID must match the sandbox": async ({ expect, subject, neighbour, box }) => {
    const client = await box.client();
    const uidOf = async (name: string): Promise<string> =>
      (await client.get(sandboxes, { namespace: "default", name })).metadata.uid ?? "";
    const [own, other] = [await uidOf(subject.name), await uidOf(neighbour.name)];
    const status = async (uid: string): Promise<number> =>
      (await subject.legacy("/", { headers: { "x-sandbox-uid": uid } })).status;
    expect([await status(own), await status(other), await status("anything at all")]).toEqual([200, 404, 404]);
  },

  "addresses that no pod can have are refused": async (world) => {
    const { expect } = world;
    const id = { "X-Sandbox-ID": world.subject.name };
    const forbidden = [
      ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"],
      ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254"],
      ["224.0.0.1", "ff02::1", "0.0.0.0", "::", "1.2.3", "1.2.3.4.5", "fe80::1%eth0"],
    ].flat();
    for (const ip of forbidden) {
      const answer = await refusal(world, { ...id, "X-Sandbox-Pod-IP": ip });
      expect([ip, ...answer]).toEqual([ip, ...bad("Invalid target IP address.")]);
    }
    const own = await podAddress(world.box, world.subject.name);
    for (const ip of [own, `::ffff:${own}`, "fd00::1", ""]) {
      expect([ip, (await refusal(world, { ...id, "X-Sandbox-Pod-IP": ip }))[0]]).toEqual([ip, 200]);
    }
  },

  "loopback addresses are refused unless allowed": async (world) => {
    const { expect } = world;
    await using open = await routerWith(world, { allowLoopbackPodIp: true });
    const status = async (ip: string): Promise<number> =>
      (await open.subject.legacy("/", { headers: { "x-sandbox-pod-ip": ip } })).status;
    expect([await status("127.0.0.1"), await status("::1"), await status("169.254.0.1")]).toEqual([200, 200, 400]);
  },
};
