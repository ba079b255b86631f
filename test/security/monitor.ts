import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BoxOnMachine } from "./box-on-machine.ts";

/** The state of the machine: one entry for each file, setting or object that only the administrator may change. */
export type Snapshot = ReadonlyMap<string, string>;

/**
 * Records everything that no tenant may change: files, kernel settings, firewall, links and routes, mounts, processes, listening
 * sockets, devices and control groups of the machine. State of Pods is left out.
 * Call it from the network namespace of the machine, as after `enterWorld`. Set `isAlone` if no other test file uses the machine:
 * only then programs and listening sockets are recorded, because other test files start and stop their own.
 */
export async function snapshot(box: BoxOnMachine, { isAlone = false }: { isAlone?: boolean } = {}): Promise<Snapshot> {
  const { pid } = box.machine;
  const texts = await Promise.all([firewall(box), links(box), ...(isAlone ? [listeners(box)] : [])]);
  return new Map([
    ...[...watchedFolders, box.machine.sentinel].flatMap(filesBelow),
    ...kernelSettings("/proc/sys"),
    ...controlGroups(),
    ...devices(),
    ...processes(box).slice(0, isAlone ? 2 : 1),
    ["mounts", mounts(pid)],
    ...texts,
  ]);
}

/** The differences, one line for each entry: `setting kernel/panic: "0" became "1"`. Of long entries only the changed lines are shown. */
export function changes(before: Snapshot, after: Snapshot): string[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])].sort();
  return keys
    .filter((key) => before.get(key) !== after.get(key))
    .map((key) => `${key}: ${difference(before.get(key), after.get(key))}`);
}

function difference(before: string | undefined, after: string | undefined): string {
  const hasLines = [before, after].every((text) => text?.trim().includes("\n"));
  if (before === undefined || after === undefined || !hasLines) return `${shown(before)} became ${shown(after)}`;
  const [old, now] = [before.split("\n"), after.split("\n")];
  const removed = old.filter((line) => !now.includes(line)).map((line) => `removed ${shown(line)}`);
  const added = now.filter((line) => !old.includes(line)).map((line) => `added ${shown(line)}`);
  return [...removed, ...added].join(", ") || "lines in another order";
}

const shown = (text: string | undefined): string =>
  text === undefined ? "nothing" : JSON.stringify(text.trim().slice(0, 300));

/** Folders in which an attacker would plant files, small enough to be read often. */
const watchedFolders = ["/etc", "/root", "/usr/local", "/boot", "/opt", "/srv", "/var/spool/cron"];
const mostFiles = 20_000;
/**
 * Caches and installed tools, which are large, and folders of programs and tests that run on the real machine at the same time: kubectl
 * and browsers of other suites write to theirs.
 */
const unwatched =
  /\/(?:\.cache|\.kube\/cache|\.config\/chromium|node_modules|\.npm|\.pyenv|\.nvm|\.cargo|\.rustup|go|[\w-]+-int-\w{6})$/;

function filesBelow(folder: string): [string, string][] {
  const found: [string, string][] = [];
  const waiting = [folder];
  for (let path = waiting.pop(); path !== undefined && found.length < mostFiles; path = waiting.pop()) {
    const stat = tryTo(() => lstatSync(path));
    if (stat === undefined || unwatched.test(path)) continue;
    if (stat.isDirectory()) {
      waiting.push(...(tryTo(() => readdirSync(path)) ?? []).map((name) => join(path, name)));
    }
    // The times of a folder change whenever a temporary file is created or deleted. Its entries are compared one by one.
    const times = stat.isDirectory() ? "" : ` ${stat.size} ${stat.mtimeMs}`;
    found.push([`file ${path}`, `${stat.mode.toString(8)} ${stat.uid}:${stat.gid}${times}`]);
  }
  return found;
}

/** Settings that change without an attack, and settings of the links of Pods. */
const volatileSettings =
  /^(?:kernel\/(?:ns_last_pid|random|pty\/nr|sched_domain|perf_event|tainted)|fs\/(?:dentry-state|inode-nr|inode-state|file-nr|aio-nr|quota|binfmt_misc)|fs\/dentry|net\/netfilter\/nf_conntrack_(?:count|buckets)|net\/ipv[46]\/(?:conf|neigh)\/(?:asb|asv|veth)|dev\/cdrom|vm\/(?:stat_refresh|compact_memory|drop_caches)|sunrpc)/;

function kernelSettings(root: string): [string, string][] {
  const found: [string, string][] = [];
  const waiting = [""];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (volatileSettings.test(path)) continue;
    const full = join(root, path);
    const stat = tryTo(() => lstatSync(full));
    if (stat?.isDirectory()) waiting.push(...(tryTo(() => readdirSync(full)) ?? []).map((name) => join(path, name)));
    // A write-only file has no value to compare.
    else if (stat !== undefined && (stat.mode & 0o400) !== 0) {
      found.push([`setting ${path}`, tryTo(() => readFileSync(full, "utf8")) ?? "unreadable"]);
    }
  }
  return found;
}

async function firewall(box: BoxOnMachine): Promise<[string, string]> {
  const { stdout } = await box.machine.run("nft", "list", "ruleset");
  const tables = stdout.split(/^(?=table )/m).filter((table) => !/^table \w+ agent_sandbox_/.test(table));
  return ["firewall tables that are not the box's", tables.join("")];
}

async function links(box: BoxOnMachine): Promise<[string, string]> {
  const outputs = await Promise.all(
    [["-o", "addr"], ["route", "show", "table", "all"], ["rule"]].map(async (words) => {
      const { stdout } = await box.machine.run("ip", ...words);
      // ip prints `if24` for a link that was removed while it was reading.
      return stdout.split("\n").filter((line) => !/\basv[0-9a-f]|\basb[0-9a-f]|\bdev if\d+\b/.test(line));
    }),
  );
  return ["links, addresses and routes", outputs.flat().sort().join("\n")];
}

async function listeners(box: BoxOnMachine): Promise<[string, string]> {
  const { stdout } = await box.machine.run("ss", "-lntuH");
  const addresses = stdout.split("\n").map((line) => line.trim().split(/\s+/));
  const lines = addresses.map(([protocol, , , , address]) => `${protocol} ${address}`);
  return ["listening sockets", [...new Set(lines)].sort().join("\n")];
}

/** Mounts below the folder for temporary files are left out: the box and other tests mount there. */
function mounts(pid: number): string {
  const lines = readFileSync(`/proc/${pid}/mountinfo`, "utf8").trim().split("\n");
  const places = lines.map((line) => line.split(" ")).map((words) => `${words[4]} from ${words[3]} ${words[5]}`);
  return places
    .filter((place) => !place.startsWith(`${tmpdir()}/`) && !/^\/run\/(?:netns\/|agent-sandbox-)/.test(place))
    .join("\n");
}

function controlGroups(): [string, string][] {
  const found: [string, string][] = [];
  for (const controller of tryTo(() => readdirSync("/sys/fs/cgroup")) ?? []) {
    for (const file of ["release_agent", "notify_on_release", "cgroup.clone_children", "cgroup.subtree_control"]) {
      const path = join("/sys/fs/cgroup", controller, file);
      const value = tryTo(() => readFileSync(path, "utf8"));
      if (value !== undefined) found.push([`control group ${path}`, value]);
    }
  }
  return found;
}

function devices(): [string, string][] {
  const names = readdirSync("/dev").filter((name) => !/^(?:pts|shm|mqueue|fd|std|pty|tty|vcs|loop)/.test(name));
  return names.map((name): [string, string] => {
    const stat = lstatSync(join("/dev", name));
    return [`device /dev/${name}`, `${stat.mode.toString(8)} ${stat.uid}:${stat.gid} ${stat.rdev}`];
  });
}

/** The process of the box, to detect a restart, and programs outside Pods that the box does not start. */
function processes(box: BoxOnMachine): [string, string][] {
  const start = (pid: number): string =>
    readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\)/, "").split(" ")[20] ?? "";
  const network = readlinkSync(`/proc/${box.machine.pid}/ns/net`);
  const strangers = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => tryTo(() => readlinkSync(`/proc/${pid}/ns/net`)) === network)
    .map((pid) => tryTo(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim()) ?? "")
    .filter((name) => name !== "" && !programsOfTheBox.test(name));
  return [
    ["the box", `${box.pid()} since ${start(box.pid())}`],
    ["other programs in the machine's network", [...new Set(strangers)].sort().join(" ")],
  ];
}

/** The box's own process, programs that it starts, and programs that the tests start. */
const programsOfTheBox =
  /^(?:node|vitest|conmon|runc|runsc|exe|skopeo|prlimit|nft|ip|tar|nice|du|find|rm|cp|sync|setpriv|nsenter|unshare|sleep|python3|sh|ss|mount|umount|nsdial|MainThread|libuv|agent-sandbox)/;

function tryTo<T>(what: () => T): T | undefined {
  try {
    return what();
  } catch {
    return undefined;
  }
}
