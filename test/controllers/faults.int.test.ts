import { setTimeout as sleep } from "node:timers/promises";
import { HttpTransport, loadKubeconfig } from "@agent-sandbox/kube";
import { seededRandom } from "@agent-sandbox/kube/testing";
import { expect, test } from "vitest";
import { installCrds } from "../kube-apiserver/install-crds.ts";
import { type Kubernetes, startKubernetes } from "../kube-apiserver/start.ts";
import { fewestKills, killAtEachWrite, mostKills } from "./kill-at-each-write.ts";
import { ManagerProcess } from "./manager-process.ts";
import { type StormServer, StormWorld } from "./storm-world.ts";

/** STORM=long: fifty leaders that are paused, and ten restarts of the API server. */
const isLong = process.env["STORM"] === "long";
const [pauses, restarts] = isLong ? [50, 10] : [2, 2];
const timeout = isLong ? 3_600_000 : 300_000;
const people = 8;
const flags = ["--enable-webhook=false"];
const seed = Number(process.env["STORM_SEED"] ?? 1);

/** kube-apiserver, etcd and the garbage collector. */
async function startKubernetesStorm(): Promise<StormServer & { readonly kubernetes: Kubernetes }> {
  await using undo = new AsyncDisposableStack();
  const kubernetes = undo.use(await startKubernetes({ prepare: installCrds }));
  const { access, error } = await loadKubeconfig({ path: kubernetes.admin.kubeconfig });
  if (access === undefined) throw new Error(error);
  const transport = undo.adopt(new HttpTransport(access), (open) => open.close());
  const owned = undo.move();
  return { kubernetes, transport, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Restarts the process whenever it ends, like a cluster. */
class Replica implements AsyncDisposable {
  manager: ManagerProcess;
  /** How often the process ended by itself. */
  ends = 0;
  readonly #start: () => ManagerProcess;
  readonly #kept: Promise<void>;
  #stopped = false;

  constructor(kubeconfig: string) {
    this.#start = () => new ManagerProcess(kubeconfig, flags);
    this.manager = this.#start();
    this.#kept = this.#keep();
  }

  get isLeader(): boolean {
    return this.manager.lines.some(({ msg }) => msg === "controllers started");
  }

  signal(name: "SIGSTOP" | "SIGCONT"): void {
    process.kill(this.manager.pid, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    await this.manager.kill();
    await this.#kept;
  }

  async #keep(): Promise<void> {
    for (;;) {
      await this.manager.exited;
      if (this.#stopped) return;
      this.ends += 1;
      this.manager = this.#start();
    }
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(50);
}

test(`${pauses} leaders that are stopped and continued lose, duplicate and leak nothing (MANAGER-19)`, {
  timeout,
}, async () => {
  await using world = await StormWorld.open(seededRandom(seed));
  await using first = new Replica(world.kubeconfig);
  await using second = new Replica(world.kubeconfig);
  let lives = 0;
  for (let pause = 0; pause < pauses; pause += 1) {
    await until(() => first.isLeader || second.isLeader);
    const [leader, other] = first.isLeader ? [first, second] : [second, first];
    const endsBefore = leader.ends;
    lives += 40;
    const living = world.live(lives, people);
    await world.begun(lives - 20);
    leader.signal("SIGSTOP");
    // The claims in progress are finished by the other replica, which needs the lease for that.
    await until(() => other.isLeader);
    leader.signal("SIGCONT");
    await living;
    // It noticed that it had lost the lease, and ended.
    await until(() => leader.ends > endsBefore);
  }
  await world.settled();
  expect(world.problems()).toEqual([]);
});

test("a manager that is killed at each single write loses nothing on kube-apiserver (MANAGER-14)", {
  timeout,
}, async () => {
  await using world = await StormWorld.open(seededRandom(seed), { startServer: startKubernetesStorm });
  const kills = await killAtEachWrite(world, [...flags, "--leader-elect=false"], { sleeps: false });
  expect(world.problems()).toEqual([]);
  expect(kills).toBeGreaterThanOrEqual(fewestKills);
  expect(kills).toBeLessThan(mostKills);
});

test(`${restarts} restarts of kube-apiserver lose, duplicate and leak nothing (RECOVER-12)`, { timeout }, async () => {
  let kubernetes: Kubernetes | undefined;
  const startServer = async (): Promise<StormServer> => {
    const started = await startKubernetesStorm();
    ({ kubernetes } = started);
    return started;
  };
  await using world = await StormWorld.open(seededRandom(seed), { startServer });
  await using replica = new Replica(world.kubeconfig);
  await until(() => replica.isLeader);
  let lives = 0;
  for (let restart = 0; restart < restarts; restart += 1) {
    lives += 40;
    const living = world.live(lives, people);
    await world.begun(lives - 20);
    await kubernetes?.restartApiServer();
    await living;
  }
  await world.settled();
  expect(world.problems()).toEqual([]);
});
