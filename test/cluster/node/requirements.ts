import { existsSync, readFileSync } from "node:fs";
import { findProgram } from "./run.ts";

/** Programs and files that the node needs, and the Debian package of each. */
const tools: readonly (readonly [file: string, debianPackage: string])[] = [
  ["ip", "iproute2"],
  ["nft", "nftables"],
  ["iptables", "iptables"],
  ["unshare", "util-linux"],
  ["nsenter", "util-linux"],
  ["mount", "mount"],
  ["openssl", "openssl"],
  ["/usr/lib/cni/bridge", "containernetworking-plugins"],
  ["/bin/busybox", "busybox-static"],
];

/** Why a kubelet cannot run here, in one sentence for each reason. Empty if it can. */
export function missingForKubelet(): readonly string[] {
  if (process.platform !== "linux") return [`it needs Linux, and this is ${process.platform}`];
  if (process.getuid?.() !== 0) return ["it needs root: run the command with sudo"];
  const packages = tools.filter(([file]) => findProgram(file) === undefined).map(([, name]) => name);
  return [
    ...(packages.length === 0
      ? []
      : [
          `it needs Debian packages that are missing: run scripts/setup.sh cluster, or apt-get install ${[...new Set(packages)].join(" ")}`,
        ]),
    ...(canAdministrate()
      ? []
      : ["it needs CAP_SYS_ADMIN and CAP_NET_ADMIN: run it outside an unprivileged container"]),
    ...(hasCgroups() ? [] : ['it needs cgroups: mount them at "/sys/fs/cgroup", writable']),
    ...(hasOverlay() ? [] : ["it needs overlayfs: load the kernel module overlay"]),
  ];
}

function canAdministrate(): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
  const [netAdmin, sysAdmin] = [12n, 21n];
  return [netAdmin, sysAdmin].every((bit) => ((BigInt(`0x${effective}`) >> bit) & 1n) === 1n);
}

function hasCgroups(): boolean {
  const isWritable = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .some(([, path = "", , options = ""]) => path.startsWith("/sys/fs/cgroup") && options.split(",").includes("rw"));
  return isWritable && (existsSync("/sys/fs/cgroup/memory") || existsSync("/sys/fs/cgroup/cgroup.controllers"));
}

function hasOverlay(): boolean {
  return /\boverlay$/m.test(readFileSync("/proc/filesystems", "utf8"));
}
