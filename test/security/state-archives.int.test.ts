import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { sandboxSnapshots } from "@agent-sandbox/api";
import { pack } from "tar-stream";
import { describe, expect, test } from "vitest";
import { openSocket } from "../../packages/cli/src/client/pod-socket.ts";
import { manifestOf, sources } from "../../packages/node/src/state/archive.test.support.ts";
import { writeArchive } from "../../packages/node/src/state/archive-stream.ts";
import { useAttacker } from "./attacker.ts";
import { until } from "./until.ts";
import { noWorld } from "./why-no-world.ts";

const protocol = "v1.snapshot-import.agents.x-k8s.io";
const pathOf = (namespace: string, name: string, part: string): string =>
  `/apis/snapshots.agents.x-k8s.io/v1alpha1/namespaces/${namespace}/sandboxsnapshots/${name}/${part}`;

/** The archive of a snapshot with a program whose header has these records. */
async function archiveWith(pax: Record<string, string>): Promise<Buffer> {
  const layer = pack();
  layer.entry({ name: "program", mode: 0o755, pax }, "#!/bin/sh");
  layer.finalize();
  const members = sources({ "layers/main.tar": await buffer(layer) });
  return buffer(writeArchive(await manifestOf(members), members));
}

describe.skipIf(noWorld)("archives of snapshots", () => {
  const attacker = useAttacker();

  test("a tenant with edit cannot import one, into no namespace", async () => {
    const { mallory, world } = attacker;
    for (const namespace of [mallory.namespace, world.alice.namespace]) {
      await expect(openSocket(mallory.access, pathOf(namespace, "crafted", "import"), protocol)).rejects.toThrow(
        'cannot get resource "sandboxsnapshots/import"',
      );
    }
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "importer" },
      rules: [{ apiGroups: ["*"], resources: ["sandboxsnapshots/import"], verbs: ["*"] }],
    };
    const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${mallory.namespace}/roles`;
    expect(await mallory.request("POST", roles, role)).toMatchObject({ status: 403 });
    expect(await world.alice.harm()).toEqual([]);
  });

  test("a tenant cannot export a snapshot of another namespace", async () => {
    const { mallory, world } = attacker;
    const victim = world.alice.namespace;
    expect(await mallory.request("GET", pathOf(victim, "treasure", "export"))).toMatchObject({ status: 403 });
    const own = await mallory.request("GET", pathOf(mallory.namespace, `..%2f${victim}%2ftreasure`, "export"));
    expect(own.status).toBeGreaterThanOrEqual(400);
    expect(await world.alice.harm()).toEqual([]);
  });

  test("a snapshot that says it was imported has no files, and nothing of another one", async () => {
    const { mallory } = attacker;
    const place = { namespace: mallory.namespace, name: "pretender" };
    await mallory.client.create(sandboxSnapshots, {
      apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
      kind: "SandboxSnapshot",
      metadata: { ...place, annotations: { "agents.x-k8s.io/imported": "true" } },
      spec: { sandboxRef: { name: "web" } },
    });
    const held = await until(async () => {
      const found = await mallory.client.get(sandboxSnapshots, place);
      return (found.metadata.finalizers ?? []).length > 0 ? found : undefined;
    });
    expect(held.status?.conditions ?? []).toEqual([]);
    expect(await mallory.request("GET", pathOf(place.namespace, place.name, "export"))).toMatchObject({ status: 409 });
    await mallory.client.delete(sandboxSnapshots, place);
  });

  test.for([
    ["that is not one", async () => Buffer.alloc(4096, "../../etc/passwd")],
    ["whose files have a capability", () => archiveWith({ "LIBARCHIVE.xattr.security.capability": "AQAAAg==" })],
    [
      "whose files have a mark of overlayfs",
      () => archiveWith({ "LIBARCHIVE.xattr.trusted.overlay.redirect": "Lw==" }),
    ],
  ] as const)("an archive of the administrator %s is refused, and leaves nothing", async ([, makeArchive]) => {
    const { world } = attacker;
    const { namespace } = world.alice;
    const socket = await openSocket(world.admin.access, pathOf(namespace, "crafted", "import"), protocol);
    const answer = once(socket, "message");
    socket.send(await makeArchive());
    socket.send("end");
    const [data] = (await answer) as [Buffer];
    expect(JSON.parse(data.toString())).toMatchObject({ status: "Failure", reason: "ArchiveInvalid" });
    socket.close();
    await expect(world.admin.client.get(sandboxSnapshots, { namespace, name: "crafted" })).rejects.toMatchObject({
      code: 404,
    });
    expect(await world.alice.harm()).toEqual([]);
  });
});
