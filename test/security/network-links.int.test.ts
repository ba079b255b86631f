import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useAttacker } from "./attacker.ts";
import { outside } from "./machine.ts";
import { Victim } from "./victim.ts";
import { noWorld } from "./why-no-world.ts";

/** A program that prints the targets that it can connect to. */
const connecting = (...aims: readonly (readonly [string, number])[]): string => `
import socket, sys, threading
def aim(host, port):
    try: socket.create_connection((host, port), 2); sys.stdout.write(f"reached {host} {port}\\n")
    except OSError: pass
for each in [${aims.map(([host, port]) => `("${host}", ${port})`).join(", ")}]: threading.Thread(target=aim, args=each).start()`;

describe.skipIf(noWorld)("packets that a sandbox sends", () => {
  const setup = useAttacker();
  beforeAll(async () => {
    await Promise.all(setup.world.runtimes.map((runtime) => setup.mallory.runPod(runtime, { runtime })));
  });
  afterAll(async () => {
    await Promise.all(setup.world.runtimes.map((runtime) => setup.mallory.removePod(runtime)));
  });

  test("reach neither the victim, nor the cloud's credentials, nor the machine", async () => {
    const gateway = await setup.mallory.shell(
      setup.world.runtimes[0] ?? "",
      "sed -n 's/^nameserver //p' /etc/resolv.conf",
    );
    const { apiPort, routerPort } = setup.world.box;
    const aims: [string, number][] = [
      [setup.world.alice.record.pods["web"]?.address ?? "", Victim.port],
      [setup.world.alice.record.pods["friend"]?.address ?? "", Victim.port],
      [outside.linkLocal, 80],
      ...[gateway, outside.machine].flatMap((host): [string, number][] => [
        [host, apiPort],
        [host, routerPort],
        [host, 22],
      ]),
      ["10.96.255.1", 80],
      ["::1", apiPort],
    ];
    for (const runtime of setup.world.runtimes) {
      const program = connecting(...aims, [outside.public, 80]);
      expect([runtime, await setup.mallory.shell(runtime, `python3 -c '${program}'`)]).toEqual([
        runtime,
        `reached ${outside.public} 80`,
      ]);
    }
    expect(setup.world.machine.received().filter(({ address }) => address === outside.linkLocal)).toEqual([]);
  });

  test("with the victim's hardware address or IP address do not take over the victim's traffic", async () => {
    if (!setup.world.runtimes.includes("runc")) return;
    await setup.mallory.runPod("raw", { runtime: "runc" });
    const own = (await setup.mallory.pod("raw")).status?.podIP ?? "";
    const victim = setup.world.alice.record.pods["web"]?.address ?? "";
    // Runs in the Pod's network namespace with all capabilities, so that the result does not depend on the runtime.
    const program = `
import socket, struct, time
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
raw.bind(("eth0", 0))
own_ip, victim_ip = socket.inet_aton("${own}"), socket.inet_aton("${victim}")
own, victim = bytes([2, 0xA5]) + own_ip, bytes([2, 0xA5]) + victim_ip
every = bytes([255] * 6)
def arp(ether, sender, address): return every + ether + struct.pack(">HHHBBH", 0x806, 1, 0x800, 6, 4, 1) + sender + address + bytes(6) + address
def ip(ether, address): return every + ether + struct.pack(">H", 0x800) + struct.pack(">BBHHHBBH", 0x45, 0, 20, 0, 0, 64, 253, 0) + address + address
frames = [arp(victim, own, own_ip), arp(victim, victim, own_ip), arp(own, own, victim_ip), arp(victim, victim, victim_ip), ip(victim, own_ip), ip(victim, victim_ip), ip(own, victim_ip)]
end = time.time() + 6
seen = 0
raw.settimeout(0.02)
print("sending", flush=True)
while time.time() < end:
    for frame in frames: raw.send(frame)
    try: seen += raw.recv(2048).count(b"diary")
    except OSError: pass
print("seen", seen)`;
    const names = (await setup.world.machine.run("ls", "/run/netns")).stdout.split("\n");
    const { uid = "none" } = (await setup.mallory.pod("raw")).metadata ?? {};
    const netns = names.find((name) => name.endsWith(uid)) ?? "";
    const attack = setup.world.machine.run("nsenter", `--net=/run/netns/${netns}`, "/usr/bin/python3", "-c", program);
    const harms: string[] = [];
    for (let round = 0; round < 3; round += 1) harms.push(...(await setup.world.alice.harm()));
    expect(harms).toEqual([]);
    expect(await attack).toMatchObject({ stdout: "sending\nseen 0\n", stderr: "" });
    await setup.mallory.removePod("raw");
  });

  test("are limited in number: one Pod cannot fill the machine's connection table", async () => {
    const flood = `python3 -c '
import socket
sender = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(200)]
for round in range(60):
    for port, each in enumerate(sender): each.sendto(b"x", ("${outside.public}", 1024 + round * 200 + port))
print("sent 12000")'`;
    const [runtime = "runc"] = setup.world.runtimes;
    const count = async (): Promise<number> =>
      Number((await setup.world.machine.run("cat", "/proc/sys/net/netfilter/nf_conntrack_count")).stdout);
    const before = await count();
    expect(await setup.mallory.shell(runtime, flood)).toBe("sent 12000");
    const after = await count();
    expect(after - before).toBeGreaterThan(1000);
    expect(after - before).toBeLessThan(6000);
    expect(await setup.world.alice.harm()).toEqual([]);
  });

  test("from a local user do not reach Pods or Services, and those from root do", async () => {
    const { address = "" } = setup.world.alice.record.pods["web"] ?? {};
    const { body } = await setup.world.alice.request(
      "GET",
      `/api/v1/namespaces/${setup.world.alice.namespace}/services/web`,
    );
    const { clusterIP } = (body as { spec: { clusterIP: string } }).spec;
    const program = connecting([address, Victim.port], [clusterIP, Victim.port], [outside.public, 80]);
    const reached = ({ stdout }: { stdout: string }): string[] => stdout.split("\n").filter(Boolean).toSorted();
    const others = `reached ${outside.public} 80`;
    const pods = [`reached ${address} ${Victim.port}`, `reached ${clusterIP} ${Victim.port}`].toSorted();
    expect(reached(await setup.world.machine.run("python3", "-c", program))).toEqual([...pods, others]);
    expect(await setup.world.machine.runAsNobody("/usr/bin/python3", "-c", program)).toMatchObject({
      stdout: `${others}\n`,
    });
  });

  test("a local user can read no file of the box and connect to none of its sockets", async () => {
    const folders = [setup.world.box.dataDir, "/run/agent-sandbox-*"].join(" ");
    const { stdout } = await setup.world.machine.runAsNobody(
      "sh",
      "-c",
      `for each in ${folders}; do find $each -mindepth 1 \\( -readable -o -writable \\) -not -type l 2>/dev/null; done`,
    );
    expect(stdout.split("\n").filter(Boolean)).toEqual([]);
    for (const file of ["kubeconfig", "box.log", "box.json", "config.json"]) {
      expect((await setup.world.machine.runAsNobody("cat", `${setup.world.box.dataDir}/${file}`)).code).not.toBe(0);
    }
    // An abstract socket name could be taken by any user before the box starts, and the box could not start.
    const { stdout: sockets } = await setup.world.machine.run("cat", "/proc/net/unix");
    expect(sockets.split("\n").filter((line) => line.includes("@agent-sandbox"))).toEqual([]);
  });
});
