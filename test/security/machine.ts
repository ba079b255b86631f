import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { execute, type Outcome } from "../e2e/box.ts";

/**
 * The addresses around the machine under attack. They exist only in a network namespace of the test, which receives all
 * packets that the machine sends to other hosts.
 */
export const outside = {
  machine: "198.51.100.2",
  gateway: "198.51.100.1",
  /** Stands for any server on the internet. */
  public: "203.0.113.10",
  /** Stands for the credentials service of a cloud. */
  linkLocal: "169.254.169.254",
  /** Stands for the local network of the operator. */
  private: "192.0.2.10",
  nameServer: "203.0.113.53",
  /** The ports that answer with their own address, over HTTP. */
  ports: [80, 443, 5000],
} as const;

/** What a host outside received: an entry with an empty text for each connection, and one with the first bytes sent over it. */
export interface Received {
  readonly protocol: "tcp" | "udp";
  readonly address: string;
  readonly port: number;
  readonly text: string;
}

/**
 * A machine with its own network and mount namespaces on the kernel and disk of the real one. One process holds the namespaces, and
 * one serves all hosts outside. When they exit, the kernel removes every mount, link and firewall rule made inside.
 */
export class Machine {
  /** The process that holds the namespaces of the machine: `/proc/<pid>/ns`. */
  readonly pid: number;
  /** A folder with a private file that belongs to root, next to the box's data folder. Only tests may change it. */
  readonly sentinel: string;
  readonly #logFile: string;

  constructor(pid: number, folder: string) {
    this.pid = pid;
    this.sentinel = join(folder, "sentinel");
    this.#logFile = join(folder, "outside.log");
  }

  /** `folder` belongs to the test. The machine exists until the returned processes exit. */
  static async start(folder: string): Promise<{ machine: Machine; processes: ChildProcess[] }> {
    const logFile = join(folder, "outside.log");
    writeFileSync(logFile, "");
    mkdirSync(join(folder, "sentinel"), { mode: 0o700 });
    writeFileSync(join(folder, "sentinel/private"), "private to the machine\n", { mode: 0o600 });
    writeFileSync(join(folder, "resolv.conf"), `nameserver ${outside.nameServer}\n`);
    const holder = spawn("setpriv", [...endsWithParent, ...ownNamespaces, "sh", "-c", holdScript], {
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, FOLDER: folder },
    });
    await fileIsWritten(join(folder, "holder-ready"), holder);
    const hosts = join(import.meta.dirname, "outside.py");
    const world = spawn("setpriv", [...endsWithParent, "unshare", "--net", "python3", hosts, logFile], {
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, ADDRESSES: JSON.stringify(outside), MACHINE: String(holder.pid) },
    });
    await fileIsWritten(logFile, world);
    return { machine: new Machine(holder.pid ?? 0, folder), processes: [holder, world] };
  }

  /** Runs a program on the machine, as root. */
  run(program: string, ...words: string[]): Promise<Outcome> {
    return this.runWith("", program, ...words);
  }

  runWith(stdin: string, program: string, ...words: string[]): Promise<Outcome> {
    return execute("nsenter", ["--target", String(this.pid), "--net", "--mount", "--", program, ...words], stdin);
  }

  /** Runs a program on the machine as a user without any privilege. */
  runAsNobody(program: string, ...words: string[]): Promise<Outcome> {
    const nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"];
    return this.run("setpriv", ...nobody, "--no-new-privs", program, ...words);
  }

  /** Everything the hosts outside have received so far. */
  received(): Received[] {
    const lines = readFileSync(this.#logFile, "utf8").split("\n").slice(1, -1);
    return lines.map((line) => JSON.parse(line) as Received);
  }
}

const endsWithParent = ["--pdeathsig", "KILL"];
const ownNamespaces = ["unshare", "--net", "--mount", "--propagation", "private"];

/** Mounts a sysfs of this network namespace with the machine's control groups in it, then keeps the namespaces open. */
const holdScript = `
set -e
mkdir -p "$FOLDER/cgroup"
mount --rbind /sys/fs/cgroup "$FOLDER/cgroup"
mount -t sysfs none /sys
mount --rbind "$FOLDER/cgroup" /sys/fs/cgroup
umount --recursive "$FOLDER/cgroup"
mount --bind "$FOLDER/resolv.conf" /etc/resolv.conf
ip link set lo up
echo ready >"$FOLDER/holder-ready"
exec sleep 3600
`;

async function fileIsWritten(file: string, by: ChildProcess): Promise<void> {
  for (;;) {
    if (textOf(file) !== "") return;
    if (by.exitCode !== null) throw new Error(`Cannot start the machine: "${by.spawnfile}" exited with ${by.exitCode}`);
    await sleep(20);
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
