import type { Sandbox } from "@agent-sandbox/api";
import { afterEach, describe, expect, test } from "vitest";
import { pods, secrets } from "../child-caches.ts";
import { ClaimWorld } from "../claim/claim-world.test.support.ts";
import { startTemplateController } from "../template/controller.ts";
import { startWarmPoolController } from "../warm-pool/controller.ts";
import { startSandboxController } from "./controller.ts";
import { name, namespace, ownedBy, podTemplate, runningPod, SandboxWorld } from "./sandbox-world.test.support.ts";
import type { InjectedRuntime } from "./settings.ts";

const volume: InjectedRuntime = { image: "registry.example/sandboxd:1", delivery: "ImageVolume" };
const init: InjectedRuntime = { ...volume, delivery: "InitContainer" };

/** What the daemon of a Sandbox is told. */
const toldAs = (own: string, uid = ""): object[] => [
  { name: "SANDBOXD_TOKEN_FILE", value: "/run/agent-sandbox-token/token" },
  { name: "SANDBOXD_SANDBOX_NAME", value: own },
  { name: "SANDBOXD_SANDBOX_NAMESPACE", value: namespace },
  { name: "SANDBOXD_SANDBOX_UID", value: uid },
];

describe("runtime: Injected", () => {
  let world: SandboxWorld;
  afterEach(async () => await world[Symbol.asyncDispose]());

  const container = {
    name: "main",
    image: "python",
    command: ["python"],
    args: ["-m", "app"],
    env: [{ name: "A", value: "1" }],
  };
  const spec = (containers: object[] = [container]): Partial<Sandbox["spec"]> => ({
    runtime: "Injected",
    ...podTemplate({}, { containers: [...(containers as (typeof container)[]), { ...container, name: "other" }] }),
  });
  const token = () => world.server.read(secrets, { namespace, name: "my-sandbox-runtime" });
  const start = async (runtime: InjectedRuntime | undefined, given = spec()): Promise<void> => {
    world = new SandboxWorld({ runtime });
    await world.create({ spec: given });
    await world.settle();
  };

  test("runs sandboxd in the first container, and the user's command under it (RUNTIME-1)", async () => {
    await start(volume);
    expect(world.pod()?.spec?.containers).toEqual([
      {
        name: "main",
        image: "python",
        command: ["/opt/agent-sandbox/sandboxd", "run", "--", "python", "-m", "app"],
        env: [{ name: "A", value: "1" }, ...toldAs(name, world.sandbox()?.metadata.uid)],
        volumeMounts: [
          { name: "agent-sandbox-runtime", mountPath: "/opt/agent-sandbox", readOnly: true },
          { name: "agent-sandbox-token", mountPath: "/run/agent-sandbox-token", readOnly: true },
        ],
      },
      { ...container, name: "other" },
    ]);
    expect(world.pod()?.spec?.volumes).toEqual([
      { name: "agent-sandbox-runtime", image: { reference: volume.image, pullPolicy: "IfNotPresent" } },
      { name: "agent-sandbox-token", secret: { secretName: "my-sandbox-runtime", defaultMode: 0o400 } },
    ]);
    expect(world.pod()?.spec).not.toHaveProperty("initContainers");
  });

  test("copies sandboxd with an init container where nodes have no image volumes (RUNTIME-2)", async () => {
    await start(init);
    expect(world.pod()?.spec?.volumes?.[0]).toEqual({ name: "agent-sandbox-runtime", emptyDir: {} });
    expect(world.pod()?.spec?.initContainers).toMatchObject([
      {
        image: volume.image,
        command: ["/sandboxd", "install", "/opt/agent-sandbox"],
        // What Kubernetes' "restricted" Pod security standard demands of every container.
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 65532,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
          seccompProfile: { type: "RuntimeDefault" },
        },
      },
    ]);
  });

  test("gives each Sandbox its own token and keeps it (RUNTIME-3)", async () => {
    await start(volume);
    const { metadata, data, immutable } = token() ?? {};
    expect(metadata?.ownerReferences).toEqual([ownedBy(world.sandbox())]);
    expect(immutable).toBe(true);
    const written = Buffer.from(data?.["token"] ?? "", "base64").toString();
    expect(Buffer.from(written, "base64url")).toHaveLength(32);
    expect(written).toMatch(/^[\w-]{43}$/);
    await world.create({ name: "second", spec: spec() });
    await world.setMode("Suspended");
    await world.settle();
    const writes = await world.writesDuring(async () => {
      await world.setMode("Running");
      await world.settle();
    });
    expect(writes).not.toHaveProperty("create secrets");
    expect(token()?.data).toEqual(data);
    expect(world.server.read(secrets, { namespace, name: "second-runtime" })?.data).not.toEqual(data);
  });

  test("runs only sandboxd when the container has no command (RUNTIME-1)", async () => {
    await start(volume, spec([{ name: "main", image: "python" }]));
    expect(world.pod()?.spec?.containers[0]?.command).toEqual(["/opt/agent-sandbox/sandboxd", "run"]);
  });

  test("replaces environment variables and mounts of the user that sandboxd needs (RUNTIME-4)", async () => {
    const taken = {
      ...container,
      env: toldAs("another", "somebody-else").toReversed() as { name: string; value: string }[],
      volumeMounts: [{ name: "mine", mountPath: "/run/agent-sandbox-token" }],
    };
    await start(volume, spec([taken]));
    const [first] = world.pod()?.spec?.containers ?? [];
    expect(first?.env).toEqual(toldAs(name, world.sandbox()?.metadata.uid));
    expect(first?.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual([
      "/opt/agent-sandbox",
      "/run/agent-sandbox-token",
    ]);
  });

  test.for([
    ["no user given", {}, {}, 0o400],
    ["root", { runAsUser: 0, runAsNonRoot: false }, {}, 0o400],
    ["another user", { runAsUser: 1000 }, {}, 0o444],
    ["another user in the whole Pod", {}, { runAsUser: 1000 }, 0o444],
    ["root in a Pod of another user", { runAsUser: 0 }, { runAsUser: 1000 }, 0o400],
    ["not root", { runAsNonRoot: true }, {}, 0o444],
    ["another user whose group the node lets read", { runAsUser: 1000 }, { fsGroup: 7 }, 0o400],
  ] as const)("makes the token readable for the container's user: %s (RUNTIME-5)", async ([, own, shared, mode]) => {
    const containers = [{ ...container, securityContext: own }];
    await start(volume, { runtime: "Injected", ...podTemplate({}, { containers, securityContext: shared }) });
    expect(world.pod()?.spec?.volumes?.[1]?.secret?.defaultMode).toBe(mode);
  });

  test("does not replace a running Pod to inject a newer runtime (RUNTIME-6)", async () => {
    await start(volume);
    await world.podReports(runningPod);
    await world.settle();
    const { metadata, spec: made } = world.pod() ?? {};
    const [main, ...others] = made?.containers ?? [];
    const older = { ...main, env: main?.env?.filter(({ name: own }) => !own.startsWith("SANDBOXD_SANDBOX_")) };
    await world.editPod({ spec: { containers: [older, ...others] } });
    const attempts = await world.attemptsDuring(async () => {
      await world.settle();
      await world.restart();
      await world.settle(1_000_000);
    });
    expect(attempts).toEqual({});
    expect(world.pod()).toMatchObject({ metadata: { uid: metadata?.uid }, spec: { containers: [older, ...others] } });
    await world.setMode("Suspended");
    await world.settle();
    await world.setMode("Running");
    await world.settle();
    expect(world.pod()?.spec?.containers[0]?.env).toEqual(main?.env);
  });

  test("never uses a Secret that the Sandbox does not own (RUNTIME-7)", async () => {
    world = new SandboxWorld({ runtime: volume });
    const forged = { metadata: { name: "my-sandbox-runtime", namespace }, data: { token: "a25vd24=" } };
    await world.user.create(secrets, forged);
    await world.create({ spec: spec() });
    await world.settle();
    expect(world.pod()).toBeUndefined();
    expect(world.condition("Ready")).toMatchObject({
      reason: "ReconcilerError",
      message: expect.stringContaining("my-sandbox-runtime") as unknown,
    });
    await world.user.delete(secrets, { namespace, name: "my-sandbox-runtime" });
    await world.settle(60_000);
    expect(world.pod()).toBeDefined();
  });

  test.for([
    ["no runtime image", undefined, spec(), name, "no runtime image"],
    ["args alone", volume, spec([{ name: "main", image: "python", args: ["x"] }]), name, "command"],
    ["no containers", volume, { runtime: "Injected", ...podTemplate({}, { containers: [] }) }, name, "containers"],
    ["a name too long", volume, spec(), "n".repeat(246), "245"],
  ] as const)("reports %s and creates nothing (RUNTIME-8)", async ([, runtime, given, own, hint]) => {
    world = new SandboxWorld({ runtime });
    await world.create({ name: own, spec: given });
    await world.settle(60_000);
    expect(world.condition("Ready", own)).toMatchObject({
      reason: "ReconcilerError",
      message: expect.stringContaining(hint) as unknown,
    });
    expect(world.server.writes.get("create pods")).toBeUndefined();
    expect(world.server.writes.get("create secrets")).toBeUndefined();
  });
});

test("keeps name and UID of a pool member when a claim adopts it (RUNTIME-9)", async () => {
  await using world = new ClaimWorld();
  world.runPods();
  world.start(startSandboxController({ ...world.context, now: () => world.clock.date(), runtime: volume }));
  world.start(startTemplateController(world.context));
  world.start(startWarmPoolController(world.context));
  world.startClaims();
  await world.template({ runtime: "Injected" });
  await world.pool({ replicas: 1 });
  await world.clock.advance(10_000);
  const [member] = world.members();
  const before = world.server.readAll(pods);
  const claim = await world.claim("mine");
  await world.clock.advance(10_000);
  const [taken] = world.owned(claim);
  expect(taken?.metadata).toMatchObject({ name: member?.metadata.name, uid: member?.metadata.uid });
  const own = taken?.metadata.name ?? "";
  const pod = world.server.read(pods, { namespace, name: own });
  expect(pod?.metadata?.uid).toBe(before[0]?.metadata?.uid);
  expect(pod?.spec).toEqual(before[0]?.spec);
  expect(pod?.spec?.containers[0]?.env).toEqual(toldAs(own, taken?.metadata.uid));
  // It is the pool that makes names up: a claim's own name is known to the router alone.
  expect(own).not.toBe("mine");
});

test("asks the node to keep the root filesystem if configured (RUNTIME-10)", async () => {
  await using world = new SandboxWorld({ keepRootFilesystem: true });
  const { metadata } = await world.create();
  await world.settle();
  expect(world.pod()?.metadata?.annotations).toMatchObject({ "agents.x-k8s.io/keep-rootfs": metadata.uid });
});
