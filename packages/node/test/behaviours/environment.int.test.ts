import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { isOver, openTestBox, slug, statusOf, type TestBox } from "../../src/testing/test-box.ts";
import { type OneShot, podOf, testOneShots } from "./one-shot.ts";

const labels = { app: "web" };

const behaviours: readonly OneShot[] = [
  { name: "command", script: "echo hello", prints: "hello\n" },
  {
    name: "command and args with variables",
    script: "",
    main: { command: ["printf"], args: ["%s|", "$(A)", "$$(A)", "$(NONE)", "$A"], env: [{ name: "A", value: "1" }] },
    prints: "1|$(A)|$(NONE)|$A|",
  },
  {
    name: "args follow the image's entrypoint",
    script: "",
    main: { command: [], args: ["echo", "args"] },
    prints: "args\n",
  },
  { name: "the exit code", script: "exit 3", prints: "", exits: 3 },
  { name: "stdout and stderr", script: "echo out; echo err >&2", prints: /^(out\nerr|err\nout)\n$/ },
  { name: "working directory", script: "pwd", main: { workingDir: "/srv" }, prints: "/srv\n" },
  { name: "host name", script: "hostname; cat /etc/hostname", spec: { hostname: "box" }, prints: "box\nbox\n" },
  {
    name: "host aliases and subdomain",
    script: "grep -c alias.example /etc/hosts; grep -o 'web.sub.default.svc.cluster.local' /etc/hosts",
    spec: { hostname: "web", subdomain: "sub", hostAliases: [{ ip: "192.0.2.7", hostnames: ["alias.example"] }] },
    prints: "1\nweb.sub.default.svc.cluster.local\n",
  },
  {
    name: "dnsPolicy None",
    script: "cat /etc/resolv.conf",
    spec: { dnsPolicy: "None", dnsConfig: { nameservers: ["192.0.2.53"], searches: ["example.com"] } },
    prints: /nameserver 192.0.2.53\nsearch example.com\n/,
  },
  {
    name: "variables refer to earlier ones",
    script: 'echo "$C"',
    main: {
      env: [
        { name: "A", value: "a" },
        { name: "C", value: "$(A)-$(LATER)" },
        { name: "LATER", value: "x" },
      ],
    },
    prints: "a-$(LATER)\n",
  },
  {
    name: "ConfigMap keys",
    script: 'echo "$K [$NONE]"',
    main: {
      env: [
        { name: "K", valueFrom: { configMapKeyRef: { name: "settings", key: "color" } } },
        { name: "NONE", valueFrom: { configMapKeyRef: { name: "settings", key: "none", optional: true } } },
      ],
    },
    prints: "green []\n",
  },
  {
    name: "Secret keys",
    script: 'echo "$K"',
    main: { env: [{ name: "K", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } }] },
    prints: "s3cret\n",
  },
  {
    name: "envFrom with ConfigMaps and Secrets",
    script: 'echo "$color $P_token $shape"',
    main: {
      envFrom: [
        { configMapRef: { name: "settings" } },
        { prefix: "P_", secretRef: { name: "keys" } },
        { configMapRef: { name: "nowhere", optional: true } },
      ],
    },
    prints: "green s3cret round\n",
  },
  {
    name: "fields of the Pod",
    script: 'echo "$NAME $NS $LABEL $NODE $ACCOUNT"; test "$IP" = "$(hostname -i)" && test -n "$HOST" && echo same',
    metadata: { labels },
    spec: { serviceAccountName: "robot" },
    main: {
      env: [
        { name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        { name: "NS", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
        { name: "LABEL", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
        { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
        { name: "ACCOUNT", valueFrom: { fieldRef: { fieldPath: "spec.serviceAccountName" } } },
        { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        { name: "HOST", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } },
      ],
    },
    prints: /^\S+ default web box robot\nsame\n$/,
  },
  {
    name: "resources of the container",
    script: 'echo "$CPU $MEMORY"',
    main: {
      resources: { limits: { cpu: "250m", memory: "64Mi" } },
      env: [
        { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } } },
        { name: "MEMORY", valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1Mi" } } },
      ],
    },
    prints: "250 64\n",
  },
];

describe.skipIf(cannotRun)("environment and arguments of a container", () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox();
    await box.putConfigMap("settings", { color: "green", shape: "round" });
    await box.putSecret("keys", { token: "s3cret" });
  });
  afterAll(() => box[Symbol.asyncDispose]());

  testOneShots("env", behaviours, () => box);

  test.for([
    ["a ConfigMap", { configMapKeyRef: { name: "later", key: "k" } }, 'configmap "later" not found'],
    ["a key of a Secret", { secretKeyRef: { name: "keys", key: "no" } }, "couldn't find key no in Secret default/keys"],
  ] as const)("waits for %s that is missing, with a message", async ([what, valueFrom, message]) => {
    const name = `missing-${slug(what)}`;
    const env = [{ name: "X", valueFrom }];
    await box.create(name, podOf({ name, script: 'echo "$X"', prints: "", main: { env } }, "runc"));
    const pod = await box.api.until(
      name,
      (one) => statusOf(one)?.state?.waiting?.reason === "CreateContainerConfigError",
    );
    expect(statusOf(pod)?.state?.waiting?.message).toBe(message);
    expect(pod.status?.phase).toBe("Pending");
    await box.remove(name);
  });

  test("starts when the missing ConfigMap is created", async () => {
    const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "soon", key: "k" } } }];
    await box.create("soon", podOf({ name: "soon", script: 'echo "$X"', prints: "", main: { env } }, "runc"));
    await box.api.until("soon", (one) => statusOf(one)?.state?.waiting?.reason === "CreateContainerConfigError");
    await box.putConfigMap("soon", { k: "here" });
    await box.api.until("soon", isOver);
    expect(await box.log("soon")).toBe("here\n");
    await box.remove("soon");
  });
});
