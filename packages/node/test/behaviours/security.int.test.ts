import { readlink } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../src/layout.ts";
import { podRecords } from "../../src/pod/record.ts";
import { cannotRun, testedRuntimes } from "../../src/testing/runtimes.ts";
import { isReady } from "../../src/testing/test-api.ts";
import { isOver, openTestBox, statusOf, type TestBox } from "../../src/testing/test-box.ts";
import { type OneShot, podOf, testOneShots } from "./one-shot.ts";

const capabilities = "grep -E '^Cap(Eff|Bnd)' /proc/self/status | cut -f 2";

const behaviours: readonly OneShot[] = [
  { name: "root by default", script: "id -u; id -g; id -G", prints: "0\n0\n0\n" },
  {
    name: "user, group and supplemental groups of the Pod",
    script: "id -u; id -g; id -G",
    spec: { securityContext: { runAsUser: 1000, runAsGroup: 1001, supplementalGroups: [7, 8] } },
    prints: "1000\n1001\n1001 7 8\n",
  },
  {
    name: "the container's user overrides the Pod's",
    script: "id -u",
    main: { securityContext: { runAsUser: 5 } },
    spec: { securityContext: { runAsUser: 1000 } },
    prints: "5\n",
  },
  {
    name: "runAsNonRoot with another user",
    script: "id -u",
    main: { securityContext: { runAsNonRoot: true, runAsUser: 5 } },
    prints: "5\n",
  },
  { name: "the default capabilities", script: capabilities, prints: "00000000000004fb\n00000000000004fb\n" },
  {
    name: "no capabilities with drop ALL",
    script: capabilities,
    main: { securityContext: { capabilities: { drop: ["ALL"] } } },
    prints: "0000000000000000\n0000000000000000\n",
  },
  {
    name: "one added capability",
    script: capabilities,
    main: { securityContext: { capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } } },
    prints: "0000000000000400\n0000000000000400\n",
  },
  { name: "no new privileges by default", script: "grep NoNewPrivs /proc/self/status | cut -f 2", prints: "1\n" },
  {
    name: "new privileges with allowPrivilegeEscalation",
    script: "grep NoNewPrivs /proc/self/status | cut -f 2",
    main: { securityContext: { allowPrivilegeEscalation: true } },
    prints: "0\n",
    only: ["runc"],
  },
  {
    name: "seccomp by default",
    script: "grep '^Seccomp:' /proc/self/status | cut -f 2",
    prints: "2\n",
    only: ["runc"],
  },
  {
    name: "readOnlyRootFilesystem, with writable /run and /dev/shm",
    script: "touch /root/x /etc/x 2>/dev/null || echo refused; touch /run/x /dev/shm/x && echo fine",
    main: { securityContext: { readOnlyRootFilesystem: true } },
    prints: "refused\nfine\n",
  },
  {
    name: "sysctls of the Pod",
    script: "cat /proc/sys/net/ipv4/ip_local_port_range | tr '\\t' ' '",
    spec: { securityContext: { sysctls: [{ name: "net.ipv4.ip_local_port_range", value: "40000 41000" }] } },
    prints: "40000 41000\n",
    only: ["runc"],
  },
  {
    name: "a CPU limit",
    script: "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || cut -d ' ' -f 1 /sys/fs/cgroup/cpu.max",
    main: { resources: { limits: { cpu: "250m" } } },
    prints: "25000\n",
    only: ["runc"],
  },
  {
    name: "a memory limit",
    script: "cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max",
    main: { resources: { limits: { memory: "64Mi" } } },
    prints: "67108864\n",
    only: ["runc"],
  },
  {
    name: "default limits",
    script:
      "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/pids/pids.max 2>/dev/null || cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max",
    prints: "268435456\n64\n",
    only: ["runc"],
  },
  {
    name: "a limit of processes",
    script:
      'python3 -c \'import os\nn=0\ntry:\n while n<500:\n  if os.fork()==0: os.pause() if hasattr(os,"pause") else __import__("signal").pause()\n  n+=1\nexcept OSError: print("contained", n<100)\'',
    prints: "contained True\n",
    only: ["runc"],
  },
  {
    name: "its own network",
    script: "ls /sys/class/net | sort | tr '\\n' ' '; cat /proc/net/tcp | wc -l",
    prints: "eth0 lo 1\n",
    only: ["runc"],
  },
];

describe.skipIf(cannotRun)("privileges of a container", () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox({ defaults: { memoryBytes: 256 * 2 ** 20, pids: 64 }, allow: { privileged: true } });
  });
  afterAll(() => box[Symbol.asyncDispose]());

  testOneShots("sec", behaviours, () => box);

  test.for(testedRuntimes)("a container that runs out of memory is OOMKilled with %s", async (runtime) => {
    const main = { command: ["python3", "-c", "bytearray(400_000_000)"], resources: { limits: { memory: "128Mi" } } };
    await box.create("hungry", podOf({ name: "", script: "", prints: "", main }, runtime));
    const pod = await box.api.until("hungry", isOver);
    expect(pod.status?.phase).toBe("Failed");
    expect(statusOf(pod)?.state?.terminated).toMatchObject({ exitCode: 137, reason: "OOMKilled" });
    await box.remove("hungry");
  });

  test.runIf(testedRuntimes.includes("gvisor"))("hostUsers: false with gVisor", async () => {
    const containers = [{ name: "main", image: "host", command: ["sleep", "infinity"] }];
    await box.create("own-users", { spec: { runtimeClassName: "gvisor", hostUsers: false, containers } });
    const { metadata } = await box.api.until("own-users", isReady);
    expect(await box.shell("own-users", "id -u")).toBe("0");
    const record = await podRecords(layoutOf(box.dataDir)).read(metadata?.uid ?? "");
    const namespaceOf = (pid: number | string): Promise<string> => readlink(`/proc/${pid}/ns/user`);
    const pid = record?.containers["main"]?.run?.process.pid ?? "self";
    expect(await namespaceOf(pid)).not.toBe(await namespaceOf("self"));
    await box.remove("own-users");
  });

  test("runAsNonRoot refuses an image that runs as root", async () => {
    const main = { securityContext: { runAsNonRoot: true } };
    await box.create("nonroot", podOf({ name: "", script: "id -u", prints: "", main }, "runc"));
    const pod = await box.api.until("nonroot", (one) => statusOf(one)?.state?.waiting?.message !== undefined);
    expect(statusOf(pod)?.state?.waiting).toEqual({
      reason: "CreateContainerConfigError",
      message: "container has runAsNonRoot and image will run as root",
    });
    await box.remove("nonroot");
  });

  test("a privileged container if the operator allows it", async () => {
    const main = { securityContext: { privileged: true } };
    const script = "mount -t tmpfs none /mnt && echo mounted; grep '^Seccomp:' /proc/self/status | cut -f 2";
    await box.create("mighty", podOf({ name: "", script, prints: "", main }, "runc"));
    await box.api.until("mighty", isOver);
    expect(await box.log("mighty")).toBe("mounted\n0\n");
    await box.remove("mighty");
  });
});
