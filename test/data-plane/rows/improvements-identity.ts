import { ask } from "../ask.ts";
import type { Run } from "../checklist.ts";
import { codes, GrpcChannel } from "../grpc-channel.ts";
import { identityOf, podAddress, runtimeToken } from "../pod-facts.ts";
import { ports, Subject } from "../subject.ts";
import type { World } from "../world.ts";
import { running } from "./legacy.ts";
import { begin, until } from "./processes.ts";

const guarded = [
  [ports.legacy, "/list/", "/"],
  [ports.rest, "/v1/files/", "/v1/health"],
] as const;

/** Sends a request directly to the pod. */
async function directTo({ box }: World, name: string) {
  const host = await podAddress(box, name);
  const status = async (port: number, path: string, headers: Record<string, string>): Promise<number> =>
    (await ask({ host, port }, path, { headers })).status;
  const list = async (headers: Record<string, string>): Promise<number> => {
    using channel = await GrpcChannel.open({ host, port: ports.grpc }, headers);
    return (await channel.unary("List", {})).code;
  };
  return { status, list };
}

const runtimeOf = ({ name }: Subject): "runc" | "gvisor" => (name.endsWith("runc") ? "runc" : "gvisor");

/** The exit code of a script, which shows whether its access was refused. */
async function refused(at: Subject, script: string): Promise<boolean> {
  return (await at.shell(`(${script}) >/dev/null 2>&1 && echo allowed || echo refused`)) === "refused\n";
}

export const identityImprovements = {
  "the runtime authenticates its clients": async (world) => {
    const { expect, subject, box } = world;
    const direct = await directTo(world, subject.name);
    for (const [port, path, health] of guarded) {
      expect([await direct.status(port, path, {}), await direct.status(port, health, {})]).toEqual([401, 200]);
      expect(await direct.status(port, path, { "x-sandbox-token": "guess" })).toBe(401);
      expect(await direct.status(port, path, { authorization: `Bearer ${subject.token}` })).toBe(401);
      const other = { "x-sandbox-token": await runtimeToken(box, world.neighbour.name) };
      expect(await direct.status(port, path, other)).toBe(401);
      const own = { "x-sandbox-token": await runtimeToken(box, subject.name) };
      expect(await direct.status(port, path, own)).toBe(200);
    }
    expect(await direct.list({})).toBe(codes.unauthenticated);
  },

  "the runtime refuses requests for other sandboxes": async (world) => {
    const { expect, subject, neighbour, box } = world;
    const claimed = await box.claimedSandbox();
    for (const name of [subject.name, claimed]) {
      const direct = await directTo(world, name);
      const token = { "x-sandbox-token": await runtimeToken(box, name) };
      const [own, other] = [await identityOf(box, name), await identityOf(box, neighbour.name)];
      expect(await direct.status(ports.rest, "/v1/files/", { ...token, ...own })).toBe(200);
      expect(await direct.list({ ...token, ...own })).toBe(codes.ok);
      const wrong = {
        "x-sandbox-id": other["x-sandbox-id"],
        "x-sandbox-namespace": "another",
        "x-sandbox-uid": other["x-sandbox-uid"],
      };
      for (const [header, value = ""] of Object.entries(wrong)) {
        for (const [port, path, health] of guarded) {
          expect(await direct.status(port, path, { ...token, ...own, [header]: value })).toBe(421);
          expect(await direct.status(port, health, { [header]: value })).toBe(200);
        }
        expect(await direct.list({ ...token, ...own, [header]: value })).toBe(codes.failedPrecondition);
      }
    }
    // The router resolves a claim's name to the Sandbox's own name.
    const mine = new Subject(subject.router, "mine", subject.token);
    expect(await mine.shell("echo $SANDBOXD_SANDBOX_NAME")).toBe(`${claimed}\n`);
  },

  "the runtime does not expose its memory and token": async ({ expect, subject }) => {
    expect(await subject.shell("env | grep -c SANDBOXD_TOKEN || true")).toBe("0\n");
    for (const file of ["environ", "mem", "fd/0"]) {
      expect([file, await refused(subject, `cat /proc/1/${file}`)]).toEqual([file, true]);
    }
    expect(await refused(subject, "cat /proc/self/environ")).toBe(false);
  },

  "user code can run as another user": async ({ expect, subject, box }) => {
    const runtime = runtimeOf(subject);
    const env = [{ name: "SANDBOXD_USER", value: "1000" }];
    const apart = await box.subject({ name: `apart-on-${runtime}`, runtime, env });
    expect(await apart.shell("id -u; id -G")).toBe("1000\n1000\n");
    expect(await refused(apart, "cat /run/agent-sandbox-token/token")).toBe(true);
    for (const file of ["environ", "mem"]) expect(await refused(apart, `cat /proc/1/${file}`)).toBe(true);
    // The supervised command too.
    expect(await apart.shell("ps -o uid= -p $(pgrep -o python3)")).toMatch(/^ *1000\n$/);
    expect((await apart.rest("/files/made/here", { method: "PUT", body: "by a caller" })).status).toBe(204);
    expect(await apart.shell("echo , then by the user >> made/here; cat made/here")).toBe(
      "by a caller, then by the user\n",
    );
    using channel = await apart.processes();
    const family = await begin(channel, {
      command: ["sh", "-c", "(setsid sleep 7106 &); sleep 7106 & echo started; wait"],
    });
    await until(family, "started");
    await expect.poll(() => running(apart, "sleep 7106")).toBe(2);
    family.call.cancel();
    await expect.poll(() => running(apart, "sleep 7106"), { timeout: 5000 }).toBe(0);
  },

  "the runtime works without root": async ({ expect, subject, box }) => {
    const runtime = runtimeOf(subject);
    const securityContext = { runAsUser: 1000, runAsNonRoot: true };
    const plain = await box.subject({ name: `plain-on-${runtime}`, runtime, securityContext });
    expect(await plain.shell("id -u; pwd")).toBe("1000\n/tmp/workspace\n");
    expect((await plain.rest("/files/f", { method: "PUT", body: "x" })).status).toBe(204);
    expect(await plain.shell("stat -c %u f")).toBe("1000\n");
    for (const file of ["environ", "mem"]) expect(await refused(plain, `cat /proc/1/${file}`)).toBe(true);
  },
} satisfies Record<string, Run>;
