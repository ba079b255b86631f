import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PodSpec } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configMaps, pods } from "../../src/resources.ts";
import { cannotRun, testedRuntimes } from "../../src/testing/runtimes.ts";
import { isReady, namespace } from "../../src/testing/test-api.ts";
import { hasPhase, openTestBox, soon, type TestBox } from "../../src/testing/test-box.ts";
import { type OneShot, podOf, testOneShots } from "./one-shot.ts";

type Volume = NonNullable<PodSpec["volumes"]>[number];

/** A Pod with one volume at /v, and a script that uses it. */
const shows = (
  name: string,
  volume: Omit<Volume, "name">,
  script: string,
  prints: OneShot["prints"],
  more: { mount?: object; main?: OneShot["main"]; spec?: OneShot["spec"]; metadata?: OneShot["metadata"] } = {},
): OneShot => ({
  name,
  script,
  prints,
  main: { volumeMounts: [{ name: "v", mountPath: "/v", ...more.mount }], ...more.main },
  spec: { volumes: [{ name: "v", ...volume }], ...more.spec },
  ...(more.metadata !== undefined && { metadata: more.metadata }),
});

const shared: Partial<PodSpec> = {
  initContainers: [
    {
      name: "first",
      image: "host",
      command: ["sh", "-c", "mkdir -p /v/a /v/mine; echo inside > /v/a/file; ln -s /etc /v/escape; ln -s a /v/near"],
      volumeMounts: [{ name: "v", mountPath: "/v" }],
    },
  ],
};

const behaviours: readonly OneShot[] = [
  shows(
    "emptyDir is empty and writable by all users",
    { emptyDir: {} },
    "ls -A /v; echo x > /v/x; id -u; cat /v/x",
    "1000\nx\n",
    {
      main: { securityContext: { runAsUser: 1000 }, volumeMounts: [{ name: "v", mountPath: "/v" }] },
    },
  ),
  shows(
    "emptyDir in memory",
    { emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
    "stat -f -c %T /v; head -c 2000000 /dev/zero > /v/x 2>/dev/null || stat -c %s /v/x",
    /^(tmpfs|v9fs)\n1048576\n$/,
    {},
  ),
  shows("emptyDir survives the container that wrote it", { emptyDir: {} }, "cat /v/a/file", "inside\n", {
    spec: { ...shared, volumes: [{ name: "v", emptyDir: {} }] },
  }),
  shows("read-only mounts", { emptyDir: {} }, "touch /v/x 2>/dev/null || echo refused", "refused\n", {
    mount: { readOnly: true },
  }),
  shows("subPath", { emptyDir: {} }, "cat /v/file", "inside\n", {
    mount: { subPath: "a" },
    spec: { ...shared, volumes: [{ name: "v", emptyDir: {} }] },
  }),
  shows("subPath of a single file", { emptyDir: {} }, "cat /v", "inside\n", {
    mount: { subPath: "a/file" },
    spec: { ...shared, volumes: [{ name: "v", emptyDir: {} }] },
  }),
  shows("subPath through a link inside the volume", { emptyDir: {} }, "cat /v/file", "inside\n", {
    mount: { subPath: "near" },
    spec: { ...shared, volumes: [{ name: "v", emptyDir: {} }] },
  }),
  shows("subPath that does not exist is created", { emptyDir: {} }, "ls -A /v; touch /v/x && echo mine", "mine\n", {
    mount: { subPath: "new/deep" },
  }),
  shows("subPathExpr", { emptyDir: {} }, "touch /v/x; echo ok", "ok\n", {
    mount: { subPathExpr: "$(WHO)/x" },
    main: {
      env: [{ name: "WHO", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
      volumeMounts: [{ name: "v", mountPath: "/v", subPathExpr: "$(WHO)/x" }],
    },
  }),
  shows(
    "ConfigMap as files",
    { configMap: { name: "settings" } },
    "cd /v; cat color shape; stat -Lc %a color; readlink color",
    "greenround644\n..data/color\n",
  ),
  shows(
    "ConfigMap items, paths and modes",
    {
      configMap: {
        name: "settings",
        defaultMode: 0o400,
        items: [
          { key: "color", path: "deep/tint" },
          { key: "shape", path: "form", mode: 0o444 },
        ],
      },
    },
    "cd /v; cat deep/tint; stat -Lc %a deep/tint form; ls",
    "green400\n444\ndeep\nform\n",
  ),
  shows(
    "ConfigMap volumes are read-only",
    { configMap: { name: "settings" } },
    "(echo x > /v/color) 2>/dev/null || echo refused",
    "refused\n",
  ),
  shows(
    "an optional ConfigMap that is missing",
    { configMap: { name: "none", optional: true } },
    "ls /v | wc -l",
    "0\n",
  ),
  shows(
    "Secret as files",
    { secret: { secretName: "keys", defaultMode: 0o400 } },
    "cat /v/token; stat -Lc ' %a' /v/token",
    "s3cret 400\n",
  ),
  shows(
    "downward API as files",
    {
      downwardAPI: {
        items: [
          { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
          { path: "cpu", resourceFieldRef: { containerName: "main", resource: "limits.cpu", divisor: "1m" } },
        ],
      },
    },
    "cat /v/labels; echo; cat /v/cpu",
    'app="web"\nzone="a b"\n500',
    {
      metadata: { labels: { app: "web", zone: "a b" } },
      main: { resources: { limits: { cpu: "500m" } }, volumeMounts: [{ name: "v", mountPath: "/v" }] },
    },
  ),
  shows(
    "projected volumes combine their sources",
    {
      projected: {
        sources: [
          { configMap: { name: "settings", items: [{ key: "color", path: "color" }] } },
          { secret: { name: "keys" } },
          { downwardAPI: { items: [{ path: "ns", fieldRef: { fieldPath: "metadata.namespace" } }] } },
        ],
      },
    },
    "cd /v; ls; cat color token ns",
    "color\nns\ntoken\ngreens3cretdefault",
  ),
  shows(
    "a service account token",
    { projected: { sources: [{ serviceAccountToken: { path: "token", audience: "vault", expirationSeconds: 600 } }] } },
    "cat /v/token; stat -Lc ' %a %u' /v/token",
    /^robot vault vol-\S+ \d+ 600 1000\n$/,
    {
      spec: {
        serviceAccountName: "robot",
        securityContext: { runAsUser: 1000 },
        volumes: [
          {
            name: "v",
            projected: {
              sources: [{ serviceAccountToken: { path: "token", audience: "vault", expirationSeconds: 600 } }],
            },
          },
        ],
      },
    },
  ),
  shows(
    "fsGroup owns the volume and new files in it",
    { emptyDir: {} },
    "stat -c '%g %a' /v; touch /v/x; stat -c %g /v/x; id -G",
    "2000 2777\n2000\n0 2000\n",
    {
      spec: {
        securityContext: { runAsUser: 1000, runAsGroup: 0, fsGroup: 2000 },
        volumes: [{ name: "v", emptyDir: {} }],
      },
    },
  ),
  shows("fsGroup may read Secrets", { secret: { secretName: "keys", defaultMode: 0o400 } }, "cat /v/token", "s3cret", {
    spec: {
      securityContext: { runAsUser: 1000, fsGroup: 2000 },
      volumes: [{ name: "v", secret: { secretName: "keys", defaultMode: 0o400 } }],
    },
  }),
  shows(
    "an image as a volume",
    { image: { reference: "host" } } as Omit<Volume, "name">,
    "ls -d /v/etc/passwd; touch /v/x 2>/dev/null || echo refused",
    "/v/etc/passwd\nrefused\n",
  ),
];

describe.skipIf(cannotRun)("volumes", () => {
  let box: TestBox;
  let hostFolder: string;
  beforeAll(async () => {
    hostFolder = await mkdtemp(join(tmpdir(), "node-host-"));
    box = await openTestBox({ allow: { hostPaths: [hostFolder] }, diskCheckMs: 300 });
    await box.putConfigMap("settings", { color: "green", shape: "round" });
    await box.putSecret("keys", { token: "s3cret" });
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await rm(hostFolder, { recursive: true, force: true });
  });

  testOneShots("vol", behaviours, () => box);

  describe.each(testedRuntimes)("with %s", (runtime) => {
    test("a subPath that leaves its volume is refused", async () => {
      const mount = { name: "v", mountPath: "/v", subPath: "escape" };
      const spec = { ...shared, volumes: [{ name: "v", emptyDir: {} }] };
      await box.create(
        "escape",
        podOf({ name: "", script: "ls /v", prints: "", main: { volumeMounts: [mount] }, spec }, runtime),
      );
      const pod = await box.api.until(
        "escape",
        (one) => one?.status?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerConfigError",
      );
      expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toContain('"escape" leads out of its folder');
      await box.remove("escape");
    });

    test("hostPath works only in allowed folders", async () => {
      await mkdir(join(hostFolder, "data"), { recursive: true });
      await writeFile(join(hostFolder, "data", "in"), "from the machine\n");
      const main = { volumeMounts: [{ name: "v", mountPath: "/v" }] };
      const pod = (path: string) =>
        podOf(
          {
            name: "",
            script: "cat /v/in; echo back > /v/out",
            prints: "",
            main,
            spec: { volumes: [{ name: "v", hostPath: { path } }] },
          },
          runtime,
        );
      await box.create("host-path", pod(join(hostFolder, "data")));
      await box.create("host-root", pod("/etc"));
      await box.api.until("host-path", hasPhase("Succeeded"));
      expect([await box.log("host-path"), await readFile(join(hostFolder, "data", "out"), "utf8")]).toEqual([
        "from the machine\n",
        "back\n",
      ]);
      await expect
        .poll(() => box.events("host-root").at(-1), soon)
        .toContain('FailedMount: MountVolume.SetUp failed for volume "v" : hostPath "/etc": it is not below a folder');
      await Promise.all(["host-path", "host-root"].map((name) => box.remove(name)));
    });

    test.for([
      ["a volume", "/v/x", { sizeLimit: "1Mi" }, {}, 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". '],
      [
        "its root filesystem",
        "/root/x",
        {},
        { "ephemeral-storage": "1Mi" },
        'Container main exceeded its local ephemeral storage limit "1Mi". ',
      ],
      [
        "/tmp",
        "/tmp/x",
        {},
        { "ephemeral-storage": "1Mi" },
        'Container main exceeded its local ephemeral storage limit "1Mi". ',
      ],
    ] as const)("a Pod that fills %s above its limit is evicted", async ([what, file, emptyDir, limits, message]) => {
      const name = `evicted-${what.length}-${runtime}`;
      const script = `head -c 4000000 /dev/zero > ${file}; trap "exit 0" TERM; sleep 1000 & wait`;
      const main = { volumeMounts: [{ name: "v", mountPath: "/v" }], resources: { limits } };
      await box.create(
        name,
        podOf({ name, script, prints: "", main, spec: { volumes: [{ name: "v", emptyDir }] } }, runtime),
      );
      const pod = await box.api.until(name, hasPhase("Failed"));
      expect(pod.status).toMatchObject({ reason: "Evicted", message });
      await expect.poll(() => box.events(name), soon).toContain(`Evicted: ${message}`);
      await box.remove(name);
    });

    test("a missing object is reported as FailedMount, and the Pod starts when it exists", async () => {
      const main = { volumeMounts: [{ name: "v", mountPath: "/v" }] };
      await box.create(
        "late",
        podOf(
          {
            name: "",
            script: "cat /v/k",
            prints: "",
            main,
            spec: { volumes: [{ name: "v", configMap: { name: `late-${runtime}` } }] },
          },
          runtime,
        ),
      );
      await expect
        .poll(() => box.events("late"), soon)
        .toContain(`FailedMount: MountVolume.SetUp failed for volume "v" : configmap "late-${runtime}" not found`);
      expect(box.api.read("late")?.status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("ContainerCreating");
      await box.putConfigMap(`late-${runtime}`, { k: "at last" });
      await box.api.until("late", hasPhase("Succeeded"));
      expect(await box.log("late")).toBe("at last");
      await box.remove("late");
    });

    test("a folder tree deeper than PATH_MAX is removed with its Pod", async () => {
      const script =
        "python3 -c \"import os\nos.chdir('/v')\nfor i in range(3000): os.mkdir('d'); os.chdir('d')\"; echo deep";
      const main = { volumeMounts: [{ name: "v", mountPath: "/v" }] };
      await box.create(
        "deep",
        podOf({ name: "", script, prints: "", main, spec: { volumes: [{ name: "v", emptyDir: {} }] } }, runtime),
      );
      await box.api.until("deep", hasPhase("Succeeded"));
      expect(await box.log("deep")).toBe("deep\n");
      await box.remove("deep");
    });

    test("a running Pod keeps the files of a deleted ConfigMap", async () => {
      await box.putConfigMap(`fleeting-${runtime}`, { k: "1" });
      const containers = [{ name: "main", image: "host", volumeMounts: [{ name: "v", mountPath: "/v" }] }];
      const volumes = [{ name: "v", configMap: { name: `fleeting-${runtime}` } }];
      await box.create("orphan", { spec: { runtimeClassName: runtime, volumes, containers } });
      await box.api.until("orphan", isReady);
      await box.api.client.delete(configMaps, { namespace, name: `fleeting-${runtime}` });
      await expect
        .poll(() => box.events("orphan").at(-1), soon)
        .toBe(`FailedMount: MountVolume.SetUp failed for volume "v" : configmap "fleeting-${runtime}" not found`);
      expect([await box.shell("orphan", "cat /v/k"), isReady(box.api.read("orphan"))]).toEqual(["1", true]);
      await box.remove("orphan");
    });

    test("files follow changes of objects and fields", async () => {
      await box.putConfigMap(`live-${runtime}`, { a: "1", b: "1" });
      const volumes = [
        { name: "v", configMap: { name: `live-${runtime}` } },
        { name: "d", downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
      ];
      const volumeMounts = [
        { name: "v", mountPath: "/v" },
        { name: "d", mountPath: "/d" },
      ];
      await box.create("live", {
        metadata: { labels: { step: "one" } },
        spec: { runtimeClassName: runtime, volumes, containers: [{ name: "main", image: "host", volumeMounts }] },
      });
      await box.api.until("live", isReady);
      expect(await box.shell("live", "cat /v/a /v/b; cat /d/labels")).toBe('11step="one"');
      await box.putConfigMap(`live-${runtime}`, { a: "2", b: "2", c: "2" });
      await expect.poll(() => box.shell("live", "cat /v/a /v/b /v/c 2>&1"), soon).toBe("222");
      await box.api.client.patch(
        pods,
        { namespace, name: "live" },
        { type: "merge", body: { metadata: { labels: { step: "two" } } } },
      );
      await expect.poll(() => box.shell("live", "cat /d/labels"), soon).toBe('step="two"');
      await box.remove("live");
    });
  });
});
