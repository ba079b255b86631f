import type { Server } from "node:http";
import type { Pod } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useAttacker } from "./attacker.ts";
import { startLoopbackService } from "./loopback-service.ts";
import { noWorld } from "./why-no-world.ts";

const waitingOf = ({ status }: Pod): { reason?: string; message?: string } =>
  status?.containerStatuses?.[0]?.state?.waiting ?? {};
const hasFailed = (pod: Pod): boolean => /ErrImagePull|ImagePullBackOff/.test(waitingOf(pod).reason ?? "");

describe.skipIf(noWorld)("image names that a tenant chooses", () => {
  const setup = useAttacker();
  let service: Server;
  const reached: string[] = [];
  beforeAll(async () => {
    // On the loopback of the attacked machine, whose network this test file has entered.
    service = await startLoopbackService((url) => reached.push(url));
  });
  afterAll(async () => {
    service?.close();
  });

  test("do not reveal open ports of the machine, in containers and in volumes", async () => {
    const { port } = service.address() as { port: number };
    const images = { open: `127.0.0.1:${port}/x:v1`, closed: "127.0.0.1:9/x:v1", metadata: "169.254.169.254/x:v1" };
    const messages = await Promise.all(
      Object.entries(images).map(async ([name, image]) => {
        await setup.mallory.createPod(name, { spec: { containers: [{ name: "main", image, command: ["true"] }] } });
        const pod = await setup.mallory.podUntil(name, hasFailed);
        return (waitingOf(pod).message ?? "")
          .replaceAll(image.split("/")[0] ?? "", "REGISTRY")
          .replace(/^.*?Cannot/, "Cannot");
      }),
    );
    expect(new Set(messages).size).toBe(1);
    expect(messages[0]).toContain("node.images.registries");
    expect(reached).toEqual([]);
  });

  test("a flood of Pods with images that cannot be pulled does not keep another tenant's Pod from starting", async () => {
    const image = "203.0.113.77:4443/slow:v1";
    const volumes = [{ name: "v", image: { reference: image } }] as unknown as NonNullable<
      NonNullable<Pod["spec"]>["volumes"]
    >;
    const names = Array.from({ length: 24 }, (_, index) => `flood-${index}`);
    await Promise.all(
      names.map((name, index) =>
        setup.mallory.createPod(name, {
          spec: index % 2 === 0 ? { volumes } : { containers: [{ name: "main", image }] },
        }),
      ),
    );
    await using bob = await setup.world.tenant("bob");
    await bob.runPod("quick");
    const flood = await Promise.all(names.map((name) => setup.mallory.pod(name)));
    expect(flood.filter(({ status }) => status?.phase === "Pending")).toHaveLength(names.length);
    expect(await setup.world.alice.harm()).toEqual([]);
    await Promise.all(names.map((name) => setup.mallory.removePod(name)));
  });
});
