import type { Pod } from "@agent-sandbox/api";
import { beforeAll, describe, expect, test } from "vitest";
import { useAttacker } from "./attacker.ts";
import { changes, type Snapshot, snapshot } from "./monitor.ts";
import type { Runtime } from "./tenant.ts";
import { noWorld } from "./why-no-world.ts";

type Container = NonNullable<Pod["spec"]>["containers"][number];

interface Attack {
  /** A script that the first run of the container executes. If a later run starts, it prints what it finds. */
  readonly prepare: string;
  readonly container: Partial<Container>;
  /** The error that the node reports instead of the second start. */
  readonly refusal: RegExp;
}

const scratch = (mountPath: string, name = "scratch") => ({ name, mountPath });
/** A setting of the Pod's own network. If an attack succeeds, a program that writes to `/dev/null` changes it. */
const bait = "/proc/sys/net/ipv4/ip_default_ttl";

const attacks: Readonly<Record<string, Attack>> = {
  "a volume for /x/dev, where /x becomes a link to /": {
    prepare: `mv /x /y && ln -s / /x && ln -s ${bait} /y/dev/null`,
    container: { volumeMounts: [scratch("/x/dev")] },
    refusal: /Cannot mount at "\/x\/dev": .* leads to "\/dev"/,
  },
  "a volume for /x/sys, where /x becomes a link to /proc": {
    prepare: "mv /x /y && ln -s /proc /x",
    container: { volumeMounts: [scratch("/x/sys")] },
    refusal: /leads to "\/proc\/sys"/,
  },
  "a volume in a volume that a container fills with links": {
    prepare: "mv /v/root /v/old && ln -s / /v/root",
    container: { volumeMounts: [scratch("/v"), scratch("/v/root/dev", "second")] },
    refusal: /Cannot mount at "\/v\/root\/dev": .* leads to "\/dev"/,
  },
  "the file for last words, whose folder becomes a link to /proc": {
    prepare: "mv /words /words2 && ln -s /proc/self /words",
    container: { terminationMessagePath: "/words/comm" },
    refusal: /leads to "\/proc\/self\/comm"/,
  },
  "a working directory that becomes a link to an open file of the runtime": {
    prepare: "cd / && rmdir /w && ln -s /proc/self/fd/7 /w",
    container: { workingDir: "/w" },
    refusal: /Cannot use working directory "\/w"/,
  },
};

describe.skipIf(noWorld)("mounts in a root filesystem that the tenant wrote", () => {
  const setup = useAttacker();
  let before: Snapshot;
  beforeAll(async () => {
    before = await snapshot(setup.world.box);
  });

  /** The first run prepares the attack and exits. The container is then created again on the same root filesystem. */
  async function attack(name: string, runtime: Runtime, { prepare, container }: Attack): Promise<string> {
    const script = `if [ -e /once/done ]; then ls -l /dev /proc/self; sleep infinity; fi; touch /once/done; ${prepare}; exit 1`;
    const volumeMounts = [...(container.volumeMounts ?? []), scratch("/once", "once")];
    const main = { name: "main", image: "host", command: ["sh", "-c", script], ...container, volumeMounts };
    const volumes = ["scratch", "second", "once"].map((each) => ({ name: each, emptyDir: {} }));
    await setup.mallory.createPod(name, { runtime, spec: { containers: [main], volumes } });
    const pod = await setup.mallory.podUntil(name, ({ status }) => {
      const state = status?.containerStatuses?.[0]?.state;
      return state?.waiting?.reason === "CreateContainerConfigError" || isSecondRun(status);
    });
    await setup.mallory.removePod(name);
    return pod.status?.containerStatuses?.[0]?.state?.waiting?.message ?? "the container started again";
  }

  describe.for(["gvisor", "runc"] as const)("with %s", (runtime) => {
    test.for(Object.keys(attacks))("%s", async (what, { skip }) => {
      if (!setup.world.runtimes.includes(runtime)) skip();
      const one = attacks[what] as Attack;
      const name = `mount-${runtime}-${Object.keys(attacks).indexOf(what)}`;
      expect(await attack(name, runtime, one)).toMatch(one.refusal);
    });
  });

  test("nothing has changed on the machine or for the victim", async () => {
    expect(changes(before, await snapshot(setup.world.box))).toEqual([]);
    expect(await setup.world.alice.harm()).toEqual([]);
  });

  test("mounts still follow an image's own links inside the root", async () => {
    const main = {
      name: "main",
      image: "host",
      command: ["sh", "-c", "touch /run/here/file /dev/shm/own; exec sleep infinity"],
      volumeMounts: [scratch("/var/run/here"), scratch("/dev/shm", "second")],
    };
    const volumes = ["scratch", "second"].map((each) => ({ name: each, emptyDir: {} }));
    for (const runtime of setup.world.runtimes) {
      await setup.mallory.runPod(`links-${runtime}`, { runtime, spec: { containers: [main], volumes } });
      expect(await setup.mallory.shell(`links-${runtime}`, "ls /var/run/here /dev/shm")).toBe(
        "/dev/shm:\nown\n\n/var/run/here:\nfile",
      );
      await setup.mallory.removePod(`links-${runtime}`);
    }
  });
});

function isSecondRun(status: Pod["status"]): boolean {
  const [main] = status?.containerStatuses ?? [];
  return (main?.restartCount ?? 0) > 0 && main?.state?.running !== undefined;
}
