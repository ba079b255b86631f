import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, statfs } from "node:fs/promises";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import type { MachineCheck } from "@agent-sandbox/api";
import { messageOf } from "../errors.ts";
import { openRuntimes, type Runtimes } from "../runtime/open-runtimes.ts";
import { sharedKernel } from "../runtime/shared-kernel.ts";
import { type RuntimeSettings, readSettings, runtimeChoices } from "../settings.ts";
import { detectCgroups, removeCgroup } from "../system/cgroups.ts";
import { findProgram } from "../system/find-program.ts";
import { mountOverlay, mountsUnder, unmount } from "../system/mounts.ts";
import { limitFolder } from "../system/project-quota.ts";
import { tryCommand } from "../system/run-command.ts";
import { examineNames } from "./examine-names.ts";
import { examineNetwork } from "./examine-network.ts";
import { whyNoMapping } from "./examine-owners.ts";
import { describeUsers, examineUsers } from "./examine-users.ts";
import { inScratch } from "./scratch.ts";

/** The result of one check. */
export type Finding = MachineCheck;

/** What the start of the node has found out with test containers. */
export interface Trials {
  readonly runtimes: Runtimes;
  /** Why user namespaces do not work, by runtime; undefined if they do. */
  readonly users: ReadonlyMap<string, string | undefined>;
}

/**
 * Checks everything that the box needs on this machine. Removes everything it creates. `flags` are those of a running box. With
 * `trials`, no container is started.
 */
export async function examineMachine(
  dataDir: string,
  flags: RuntimeSettings = {},
  trials?: Trials,
): Promise<readonly Finding[]> {
  const isRoot = process.getuid?.() === 0;
  const findings = await Promise.all([
    finding("root", isRoot ? ok("yes") : missing("no", "run doctor with sudo")),
    finding("kernel", ok(release())),
    trials === undefined ? examineSettings(dataDir, flags, isRoot) : describeRuntimes(trials.runtimes, true),
    ...programs.map((program) => examineProgram(program)),
    ...(isRoot ? await examineDataFolder(dataDir) : [finding("overlayfs", lacking("not tried without root"))]),
    finding("control groups", await examineCgroups()),
    finding("OOM scores", await examineOomScores()),
    finding("user namespaces", await examineUserNamespaces()),
    finding("disk", await examineDisk(dataDir)),
    examineNetwork(isRoot),
    examineNames().then((found) => [found]),
  ]);
  const users = trials === undefined ? async () => examineUsers(dataDir) : async () => describeUsers(trials.users);
  return [...findings.flat(), ...(isRoot ? await users() : [])];
}

type Verdict = Omit<Finding, "name">;

const ok = (detail: string): Verdict => ({ state: "ok", detail });
const lacking = (detail: string, remedy?: string): Verdict => ({ state: "lacking", detail, ...(remedy && { remedy }) });
const missing = (detail: string, remedy: string): Verdict => ({ state: "missing", detail, remedy });
const finding = async (name: string, verdict: Verdict): Promise<Finding[]> => [{ name, ...verdict }];

interface Program {
  readonly name: string;
  readonly package: string;
  readonly why: string;
  /** Whether the box cannot run without it. */
  readonly needed: boolean;
}

const programs: readonly Program[] = [
  { name: "conmon", package: "conmon", why: "records the output and exit code of containers", needed: true },
  { name: "ip", package: "iproute2", why: "configures the network of sandboxes", needed: true },
  { name: "nft", package: "nftables", why: "isolates sandboxes on the network", needed: true },
  { name: "mount", package: "mount", why: "mounts the layers of images", needed: true },
  { name: "unshare", package: "util-linux", why: "starts gVisor", needed: false },
  { name: "skopeo", package: "skopeo", why: "pulls images from registries and loads archives", needed: false },
];

const install = (name: string): string => `sudo apt-get install --no-install-recommends ${name}`;

async function examineProgram({ name, package: from, why, needed }: Program): Promise<Finding[]> {
  try {
    return await finding(name, ok(await findProgram(name)));
  } catch {
    const verdict = needed ? missing : lacking;
    return finding(name, verdict(`not found: it ${why}`, install(from)));
  }
}

/** How to get a runtime that works. */
const buildOf: Readonly<Record<string, string>> = {
  gvisor: '"make gvisor" builds a current one',
  runc: '"make runc" builds a current one; with gVisor there is no need for it',
};

const ownKernel = "install gVisor, or use a runtimeClassName with its own kernel; until then run only trusted code";

async function examineSettings(dataDir: string, flags: RuntimeSettings, isRoot: boolean): Promise<Finding[]> {
  try {
    return await examineRuntimes(runtimeChoices(await readSettings(dataDir), flags), isRoot);
  } catch (error) {
    const remedy = isRoot ? "correct or remove the file" : "run doctor with sudo";
    return await finding("settings", missing(messageOf(error), remedy));
  }
}

async function examineRuntimes(choices: ReturnType<typeof runtimeChoices>, isRoot: boolean): Promise<Finding[]> {
  const runDir = await mkdtemp(join(tmpdir(), "doctor-"));
  const cgroupParent = `/agent-sandbox-doctor-${process.pid}`;
  try {
    return await describeRuntimes(await openRuntimes({ runDir, cgroupParent, ...choices, tryFirst: isRoot }), isRoot);
  } catch (error) {
    return await finding("runtime", missing(messageOf(error), buildOf["gvisor"] ?? ""));
  } finally {
    if (isRoot) await removeTrialGroups(cgroupParent);
    await unmount(await mountsUnder(runDir));
    await rm(runDir, { recursive: true, force: true });
  }
}

async function describeRuntimes(found: Runtimes, isTried: boolean): Promise<Finding[]> {
  const present = [...found.present.values()].map(async ({ name, program, checkpoints }): Promise<Finding> => {
    const version = (await tryCommand(program, ["--version"])).stdout.split("\n")[0] ?? "";
    const flaw = found.flawed.get(name);
    const works = flaw ?? found.absent.get(name) ?? (isTried ? "works" : "not tried without root");
    const depth = `suspends with depth ${checkpoints === undefined ? "Filesystem" : "Memory"}`;
    const text = `${standingOf(name, found)}; ${depth}; ${version} (${program}): ${works}`;
    const isFine = flaw === undefined && !found.absent.has(name);
    return { name: `runtime ${name}`, ...(isFine ? ok(text) : lacking(text, buildOf[name])) };
  });
  const absent = [...found.absent]
    .filter(([name]) => !found.present.has(name))
    .map(([name, why]): Finding => ({ name: `runtime ${name}`, ...lacking(why, buildOf[name]) }));
  const risk = sharedKernel(found);
  const isolation =
    risk === undefined ? ok("Pods without runtimeClassName have their own kernel") : lacking(risk.message, ownKernel);
  return [...(await Promise.all(present)), ...absent, { name: "isolation", ...isolation }];
}

/** Whether a runtime is the default, allowed, or not allowed in Namespaces without a list of their own. */
function standingOf(name: string, found: Runtimes): string {
  if (name === found.default) return "the default";
  return found.allowed.includes(name) ? "allowed" : "allowed only in Namespaces that list it";
}

/** Does nothing on a machine without control groups, which has its own finding. */
async function removeTrialGroups(parent: string): Promise<void> {
  const cgroups = await detectCgroups().catch(() => undefined);
  if (cgroups !== undefined) await removeCgroup(cgroups, parent);
}

async function examineDataFolder(dataDir: string): Promise<Promise<Finding[]>[]> {
  try {
    return await inScratch(dataDir, examineFolder);
  } catch (error) {
    return [finding("data folder", missing(messageOf(error), "choose a writable --data-dir"))];
  }
}

async function examineFolder(folder: string, parent: string): Promise<Promise<Finding[]>[]> {
  return [
    finding("overlayfs", await examineOverlay(folder, parent)),
    finding("volume claim sizes", await examineSizes(folder)),
    finding("private files", await examinePrivacy(folder)),
  ];
}

async function examineOverlay(folder: string, parent: string): Promise<Verdict> {
  const [lower = "", upper = "", work = "", target = ""] = ["lower", "upper", "work", "target"].map((one) =>
    join(folder, one),
  );
  try {
    for (const path of [lower, upper, work, target]) await mkdir(path);
    await mountOverlay(target, { lower: [lower], upper, work });
    await unmount([target]);
    return ok(`works in ${parent}`);
  } catch (error) {
    return missing(messageOf(error), "choose a --data-dir on a filesystem such as ext4 or xfs");
  }
}

async function examinePrivacy(folder: string): Promise<Verdict> {
  const problem = await whyNoMapping("/usr", folder);
  if (problem === undefined)
    return ok("private files in the machine's /usr cannot be read in sandboxes of the image host");
  return lacking(
    `private files in /usr are hidden when a Pod starts, but not those that become private later: ${problem}`,
    "use a kernel of 5.12 or later, with /usr on a filesystem such as ext4, xfs or btrfs",
  );
}

const quotaRemedy =
  "mount the data folder's filesystem with prjquota: XFS, or ext4 after tune2fs -O project -Q prjquota";

async function examineSizes(folder: string): Promise<Verdict> {
  try {
    // 0 sets no limit and only tests whether one could be set.
    return limitFolder(folder, 0)
      ? ok("enforced by the filesystem")
      : lacking("not enforced, only reported by an event: the filesystem has no project quotas", quotaRemedy);
  } catch (error) {
    return lacking(messageOf(error), quotaRemedy);
  }
}

async function examineCgroups(): Promise<Verdict> {
  try {
    const cgroups = await detectCgroups();
    const { version, swapAccounting } = cgroups;
    if (!existsSync(cgroups.controllerFolder("memory", "/"))) {
      return lacking(
        `version ${version}, without the memory controller: memory is not limited`,
        "boot with cgroup_enable=memory",
      );
    }
    return ok(`version ${version}${swapAccounting ? "" : ", without limits on swap"}`);
  } catch (error) {
    return missing(messageOf(error), "mount the control groups of version 2 at /sys/fs/cgroup");
  }
}

const resourceCapability = 24;

/** A process with CAP_SYS_RESOURCE can set an OOM score that the sandbox cannot lower. */
async function examineOomScores(): Promise<Verdict> {
  const effective = /^CapEff:\s*([0-9a-f]+)/m.exec(await readFile("/proc/self/status", "utf8"))?.[1] ?? "0";
  const has = ((BigInt(`0x${effective}`) >> BigInt(resourceCapability)) & 1n) === 1n;
  return has
    ? ok("processes of sandboxes are killed before the box")
    : lacking(
        "root in a runc sandbox can lower its score to that of the box: CAP_SYS_RESOURCE is missing",
        "give the box CAP_SYS_RESOURCE, or use gVisor",
      );
}

async function examineUserNamespaces(): Promise<Verdict> {
  const most = Number(await readFile("/proc/sys/user/max_user_namespaces", "utf8").catch(() => "0"));
  return most > 0
    ? ok(`up to ${most}`)
    : lacking("switched off: gVisor cannot drop its privileges", "sysctl user.max_user_namespaces=10000");
}

const leastFreeBytes = 5 * 2 ** 30;

async function examineDisk(dataDir: string): Promise<Verdict> {
  const found = await firstExisting(dataDir);
  const { bavail, bsize } = await statfs(found);
  const text = `${Math.floor((bavail * bsize) / 2 ** 30)} GiB free in ${found}`;
  return bavail * bsize >= leastFreeBytes ? ok(text) : lacking(text, "choose a --data-dir with more free space");
}

async function firstExisting(path: string): Promise<string> {
  const exists = await statfs(path).then(
    () => true,
    () => false,
  );
  return exists ? path : firstExisting(join(path, ".."));
}
