import type { Container, Pod } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { type BundleInput, buildSpec } from "./build-spec.ts";
import { defaultCapabilities } from "./capabilities.ts";
import { resourcesFor } from "./resources.ts";
import { seccompProfile } from "./seccomp.ts";

const machine = { arch: "x64", kernel: "6.1.0", capabilities: ["CAP_SYS_ADMIN"] };

function input(container: Partial<Container> = {}, spec: Partial<Pod["spec"]> = {}): BundleInput {
  const main: Container = { name: "main", image: "host", ...container };
  return {
    pod: { metadata: { name: "p", namespace: "n", uid: "u" }, spec: { containers: [main], ...spec } },
    container: main,
    image: {
      command: ["/bin/idle"],
      environment: new Map([["PATH", "/bin"]]),
      workingDir: "/root",
      mounts: [{ destination: "/usr", type: "bind", source: "/usr", options: ["rbind", "rro"] }],
    },
    environment: new Map([
      ["PATH", "/bin"],
      ["X", "1"],
    ]),
    user: { uid: 5, gid: 2, groups: [3] },
    rootfs: "/data/rootfs",
    namespaces: [{ type: "network", path: "/run/netns/x" }, { type: "mount" }],
    cgroupsPath: "/parent/u/main",
    etc: "/data/etc",
    mounts: [{ destination: "/work", type: "bind", source: "/data/volumes/scratch", options: ["rbind"] }],
    annotations: { role: "alone" },
    machine,
    resources: resourcesFor(
      main,
      { memoryBytes: 1000, pids: 7, diskBytes: 1 },
      { swapAccounting: false, memoryBytes: 1e9, pids: 99 },
    ),
  };
}

describe("buildSpec()", () => {
  test("the complete specification of a minimal Pod", () => {
    const spec = buildSpec(input());
    expect(spec).toEqual({
      ociVersion: "1.0.2",
      process: {
        terminal: false,
        user: { uid: 5, gid: 2, umask: 18, additionalGids: [3] },
        args: ["/bin/idle"],
        env: ["PATH=/bin", "X=1"],
        cwd: "/root",
        capabilities: { bounding: defaultCapabilities, effective: defaultCapabilities, permitted: defaultCapabilities },
        noNewPrivileges: true,
        oomScoreAdj: 1000,
      },
      root: { path: "/data/rootfs", readonly: false },
      hostname: "p",
      mounts: [
        { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "noexec", "nodev"] },
        {
          destination: "/dev",
          type: "tmpfs",
          source: "tmpfs",
          options: ["nosuid", "noexec", "strictatime", "mode=755", "size=65536k"],
        },
        {
          destination: "/dev/pts",
          type: "devpts",
          source: "devpts",
          options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
        },
        {
          destination: "/dev/shm",
          type: "tmpfs",
          source: "shm",
          options: ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"],
        },
        { destination: "/dev/mqueue", type: "mqueue", source: "mqueue", options: ["nosuid", "noexec", "nodev"] },
        { destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "noexec", "nodev", "ro"] },
        {
          destination: "/sys/fs/cgroup",
          type: "cgroup",
          source: "cgroup",
          options: ["nosuid", "noexec", "nodev", "relatime", "ro"],
        },
        {
          destination: "/run",
          type: "tmpfs",
          source: "tmpfs",
          options: ["nosuid", "nodev", "mode=755", "size=65536k"],
        },
        { destination: "/usr", type: "bind", source: "/usr", options: ["rbind", "rro"] },
        {
          destination: "/etc/hosts",
          type: "bind",
          source: "/data/etc/hosts",
          options: ["bind", "ro", "nosuid", "nodev", "noexec"],
        },
        {
          destination: "/etc/hostname",
          type: "bind",
          source: "/data/etc/hostname",
          options: ["bind", "ro", "nosuid", "nodev", "noexec"],
        },
        {
          destination: "/etc/resolv.conf",
          type: "bind",
          source: "/data/etc/resolv.conf",
          options: ["bind", "ro", "nosuid", "nodev", "noexec"],
        },
        // Last, so that none of our own mounts covers them.
        { destination: "/work", type: "bind", source: "/data/volumes/scratch", options: ["rbind"] },
      ],
      annotations: {
        "io.kubernetes.pod.namespace": "n",
        "io.kubernetes.pod.name": "p",
        "io.kubernetes.pod.uid": "u",
        "io.kubernetes.container.name": "main",
        role: "alone",
      },
      linux: {
        namespaces: [{ type: "network", path: "/run/netns/x" }, { type: "mount" }],
        cgroupsPath: "/parent/u/main",
        resources: {
          devices: [{ allow: false, access: "rwm" }],
          memory: { limit: 1000 },
          cpu: { shares: 2 },
          pids: { limit: 7 },
        },
        sysctl: { "net.ipv4.ip_unprivileged_port_start": "0", "net.ipv4.ping_group_range": "0 2147483647" },
        seccomp: seccompProfile(machine),
        maskedPaths: [
          "/proc/acpi",
          "/proc/asound",
          "/proc/interrupts",
          "/proc/kcore",
          "/proc/keys",
          "/proc/kpagecount",
          "/proc/kpageflags",
          "/proc/latency_stats",
          "/proc/sched_debug",
          "/proc/scsi",
          "/proc/timer_list",
          "/proc/timer_stats",
          "/sys/devices/virtual/powercap",
          "/sys/firmware",
          "/sys/kernel/debug",
          "/sys/kernel/tracing",
        ],
        readonlyPaths: ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
        rootfsPropagation: "private",
      },
    });
  });

  test.for([
    ["command alone", { command: ["/a", "b"] }, ["/a", "b"]],
    ["command and args", { command: ["/a"], args: ["b", "c"] }, ["/a", "b", "c"]],
    ["args alone", { args: ["/a", "b"] }, ["/a", "b"]],
    ["variables in both", { command: ["$(X)"], args: ["$$(X)"] }, ["1", "$(X)"]],
  ] as const)("the command line: %s", ([, container, expected]) => {
    expect(buildSpec(input(container as unknown as Partial<Container>)).process.args).toEqual(expected);
  });

  test("the security context", () => {
    const { process, root } = buildSpec(
      input({
        workingDir: "/w",
        securityContext: {
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: true,
          capabilities: { drop: ["ALL"] },
        },
      }),
    );
    expect({ process, root }).toMatchObject({
      process: {
        cwd: "/w",
        noNewPrivileges: false,
        capabilities: { bounding: [], effective: [], permitted: [] },
      },
      root: { readonly: true },
    });
  });

  test("a privileged container has all capabilities of the machine", () => {
    const { process, linux } = buildSpec(input({ securityContext: { privileged: true } }));
    expect(process.capabilities.effective).toEqual(["CAP_SYS_ADMIN"]);
    expect([process.noNewPrivileges, linux.seccomp, linux.maskedPaths, linux.readonlyPaths]).toEqual([
      false,
      undefined,
      [],
      [],
    ]);
    expect(linux.resources.devices).toEqual([{ allow: true, access: "rwm" }]);
  });

  test("sysctls and seccomp follow the Pod's security context", () => {
    const { linux } = buildSpec(
      input(
        {},
        {
          securityContext: {
            seccompProfile: { type: "Unconfined" },
            sysctls: [{ name: "net.ipv4.tcp_syncookies", value: "0" }],
          },
        },
      ),
    );
    expect([linux.seccomp, linux.sysctl["net.ipv4.tcp_syncookies"]]).toEqual([undefined, "0"]);
  });
});
