import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { sandboxes } from "@agent-sandbox/api";
import { systemScheduler } from "@agent-sandbox/kube";
import { accountToken, allowConnect } from "../accounts.ts";
import { type Answer, ask, jsonOf } from "../ask.ts";
import { Certificates } from "../certificates.ts";
import type { Rows } from "../checklist.ts";
import { inAnHour, knownExpiryMs, knownSecret, knownToken, scopedToken } from "../scoped-tokens.ts";
import { ports, type Subject } from "../subject.ts";
import { routerWith, type World } from "../world.ts";

const unauthenticated = [401, '{"detail":"unauthenticated"}'];
const forbidden = [403, '{"detail":"forbidden"}'];

/** Requests the health of the sandbox with this `Authorization` header. */
export async function as(
  at: Subject,
  authorization: string | undefined,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const named = { "x-sandbox-id": at.name, ...headers };
  return await ask(at.router, "/", { headers: authorization === undefined ? named : { ...named, authorization } });
}

const outcome = ({ status, text: body }: Answer): [number, string] => [status, body];

export const boxSecret = ({ box }: World): string => readFileSync(join(box.box.dataDir, "router.key"), "utf8").trim();

export const auth: Rows<"auth"> = {
  "requests without a token are refused": async ({ expect, subject }) => {
    const nobody = await as(subject, undefined);
    expect(outcome(nobody)).toEqual(unauthenticated);
    expect(nobody.headers["www-authenticate"]).toBeUndefined();
    expect(outcome(await as(subject, "Bearer forged"))).toEqual(unauthenticated);
    // The response does not reveal whether the sandbox exists.
    expect(outcome(await as(subject, undefined, { "x-sandbox-id": "no-such" }))).toEqual(unauthenticated);
  },

  "a bearer token is parsed like by the reference implementation": async ({ expect, subject }) => {
    for (const scheme of ["Bearer ", "bearer ", "BEARER ", "Bearer   "]) {
      expect([scheme, (await as(subject, `${scheme}${subject.token}`)).status]).toEqual([scheme, 200]);
    }
    for (const header of ["Bearer", "Bearer ", `Basic ${subject.token}`, subject.token]) {
      expect([header.slice(0, 8), ...outcome(await as(subject, header))]).toEqual([
        header.slice(0, 8),
        ...unauthenticated,
      ]);
    }
  },

  "an authenticated user without access is refused": async ({ expect, subject, box }) => {
    const token = await accountToken(await box.client(), "nobody");
    expect(outcome(await as(subject, `Bearer ${token}`))).toEqual(forbidden);
    expect(outcome(await as(subject, `Bearer ${token}`, { "x-sandbox-id": "no-such" }))).toEqual(forbidden);
  },

  "a router without authentication must be configured explicitly": async (world) => {
    const { expect } = world;
    await using open = await routerWith(world, { auth: { anonymous: true } });
    expect((await as(open.subject, undefined)).status).toBe(200);
    expect((await as(open.subject, "Bearer whatever")).status).toBe(200);
  },

  "missing tokens are allowed if tokens are optional": async (world) => {
    const { expect } = world;
    await using lenient = await routerWith(world, { auth: { requireToken: false } });
    expect((await as(lenient.subject, undefined)).status).toBe(200);
    expect(outcome(await as(lenient.subject, "Bearer forged"))).toEqual(unauthenticated);
  },

  "a token for another audience is refused": async (world) => {
    const { expect } = world;
    const client = await world.box.client();
    await using choosy = await routerWith(world, {
      auth: { tokenReview: { audiences: ["router"], accessReview: false } },
    });
    const [plain, meant] = [await accountToken(client, "nobody"), await accountToken(client, "nobody", ["router"])];
    expect(outcome(await as(choosy.subject, `Bearer ${plain}`))).toEqual(unauthenticated);
    expect((await as(choosy.subject, `Bearer ${meant}`)).status).toBe(200);
    expect(outcome(await as(world.subject, `Bearer ${meant}`))).toEqual(unauthenticated);
  },

  "scoped tokens of version 1 are accepted": async (world) => {
    const { expect } = world;
    const { subject, neighbour } = world;
    const secret = boxSecret(world);
    const mint = (claims: object) =>
      `Bearer ${scopedToken({ ns: "default", name: subject.name, exp: inAnHour(), ...claims }, { secret })}`;
    const good = mint({});
    expect((await as(subject, good)).status).toBe(200);
    expect(outcome(await as(neighbour, good))).toEqual(forbidden);
    expect(outcome(await as(subject, good, { "x-sandbox-namespace": "other" }))).toEqual(forbidden);
    expect(outcome(await as(subject, good, { "x-sandbox-uid": "any" }))).toEqual(forbidden);
    expect(outcome(await as(subject, good, { "x-sandbox-pod-ip": "10.1.2.3" }))).toEqual(forbidden);
    expect(outcome(await as(subject, mint({ exp: Math.floor(Date.now() / 1000) - 1 })))).toEqual(unauthenticated);
    expect(outcome(await as(subject, good.replace("v1.", "")))).toEqual(unauthenticated);
    const bare = scopedToken({ ns: "default", name: subject.name, exp: inAnHour() }, { secret, context: "" });
    expect(outcome(await as(subject, `Bearer ${bare}`))).toEqual(unauthenticated);
  },

  "invalid scoped tokens are refused": async (world) => {
    const { expect } = world;
    using certificates = new Certificates();
    const file = certificates.path("key");
    // Such files usually end with a line feed.
    writeFileSync(file, `${knownSecret}\n`);
    const at = async (date: number, headers: Record<string, string>): Promise<number> => {
      const scheduler = { ...systemScheduler, date: () => date };
      await using router = await routerWith(world, { auth: { keyFiles: [file] }, scheduler });
      return (await as(router.subject, `Bearer ${knownToken}`, headers)).status;
    };
    const [box, before] = [{ "x-sandbox-id": "box-a" }, knownExpiryMs - 1];
    // The token is valid, but there is no such sandbox.
    expect(await at(before, box)).toBe(404);
    expect(await at(knownExpiryMs, box)).toBe(401);
    expect(await at(before, { "x-sandbox-id": "box-b" })).toBe(403);
    expect(await at(before, { ...box, "x-sandbox-namespace": "other" })).toBe(403);
  },

  "issued tokens have ports, an expiry and can be revoked": async ({ expect, subject, neighbour, box }) => {
    const path = `/router/v1/namespaces/default/sandboxes/${subject.name}/tokens`;
    const office = (method: string, authorization: string, body = ""): Promise<Answer> =>
      ask(subject.router, path, { method, body, headers: { authorization } });
    const admin = `Bearer ${subject.token}`;
    const made = await office("POST", admin, JSON.stringify({ ports: [ports.workload], lifetimeSeconds: 60 }));
    const { token } = jsonOf<{ token: string }>(made);
    const bearer = `Bearer ${token}`;
    expect(made.status).toBe(201);
    const workload = { "x-sandbox-port": "8000" };
    expect((await as(subject, bearer, workload)).status).toBe(200);
    expect(outcome(await as(subject, bearer))).toEqual(forbidden);
    expect(outcome(await as(neighbour, bearer, workload))).toEqual(forbidden);
    expect((await office("POST", bearer)).status).toBe(403);
    expect((await office("POST", admin, '{"lifetimeSeconds":100000}')).status).toBe(400);
    expect((await office("DELETE", admin)).status).toBe(200);
    await expect.poll(async () => outcome(await as(subject, bearer, workload))).toEqual(forbidden);
    const { token: fresh } = jsonOf<{ token: string }>(await office("POST", admin));
    expect((await as(subject, `Bearer ${fresh}`)).status).toBe(200);
    const annotations = { "agents.x-k8s.io/tokens-not-before": null };
    const undo = { type: "merge", body: { metadata: { annotations } } } as const;
    await (await box.client()).patch(sandboxes, { namespace: "default", name: subject.name }, undo);
  },

  "certificates are reloaded": async (world) => {
    const { expect } = world;
    using certificates = new Certificates();
    await using secure = await routerWith(world, { secure: { port: 0, mtls: "off", ...certificates.server } });
    const { port = 0 } = secure.router.secureAddress ?? {};
    const tls = { host: "127.0.0.1", port, servername: "localhost", ca: certificates.read("ca.crt") };
    const commonName = async (): Promise<string | undefined> => {
      const socket = connectTls(tls);
      await once(socket, "secureConnect");
      const { CN } = socket.getPeerCertificate().subject;
      socket.destroy();
      return String(CN);
    };
    expect(await commonName()).toBe("first");
    certificates.swap();
    await expect.poll(commonName, { timeout: 10_000 }).toBe("second");
    const session = connectHttp2(`https://localhost:${port}`, { ...tls, ALPNProtocols: ["h2"] });
    const stream = session.request({ ":path": "/over-tls", ...world.subject.headers(ports.workload) });
    const arrived = JSON.parse(await text(stream)) as { target: string; headers: [string, string][] };
    session.close();
    expect([arrived.target, Object.fromEntries(arrived.headers)["x-forwarded-proto"]]).toEqual(["/over-tls", "https"]);
    const old = connectTls({ ...tls, maxVersion: "TLSv1.1", minVersion: "TLSv1" });
    const [refusal] = (await once(old, "error")) as [Error];
    expect(refusal).toBeInstanceOf(Error);
  },

  "client certificates authenticate": async (world) => {
    const { expect } = world;
    using certificates = new Certificates();
    certificates.issue("alice", "/O=team/CN=alice", `URI:spiffe://example/${world.subject.name}`);
    const client = await world.box.client();
    const user = {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "User",
      name: `spiffe://example/${world.subject.name}`,
    };
    await allowConnect(client, user, world.subject.name);
    const clientCaFile = certificates.path("ca.crt");
    await using secure = await routerWith(world, {
      secure: { port: 0, mtls: "optional", clientCaFile, ...certificates.server },
    });
    const { port = 0 } = secure.router.secureAddress ?? {};
    const own = { cert: certificates.read("alice.crt"), key: certificates.read("alice.key") };
    const status = async (id: string, identity: object): Promise<number | undefined> => {
      const agent = new Agent({ ca: certificates.read("ca.crt"), servername: "localhost", ...identity });
      const sent = request({
        host: "127.0.0.1",
        port,
        agent,
        headers: { host: "localhost", "x-sandbox-id": id },
      }).end();
      const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
      response.resume();
      agent.destroy();
      return response.statusCode;
    };
    expect(await status(world.subject.name, own)).toBe(200);
    expect(await status(world.neighbour.name, own)).toBe(403);
    expect(await status(world.subject.name, {})).toBe(401);
  },
};
