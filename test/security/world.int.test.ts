import { describe, expect, test } from "vitest";
import { useAttacker } from "./attacker.ts";
import { outside } from "./machine.ts";
import { noWorld } from "./why-no-world.ts";

/** Checks that the attacks of the other files could succeed in this environment. */
describe.skipIf(noWorld)("the world of the suite", () => {
  const setup = useAttacker();

  test("the victim's traffic, policies, files and Pods work", async () => {
    expect(await setup.world.alice.harm()).toEqual([]);
    expect(await setup.world.alice.startsPodsAndPolicies()).toBe(true);
  });

  test("a tenant runs code on every runtime, and its packets to the outside arrive at a host of the test", async () => {
    for (const runtime of setup.world.runtimes) {
      await setup.mallory.runPod(runtime, { runtime });
      const url = `http://${outside.public}:80/${runtime}`;
      const script = `python3 -c 'import urllib.request; print(urllib.request.urlopen("${url}", timeout=5).read().decode())'`;
      expect(await setup.mallory.shell(runtime, script)).toContain(`outside ${outside.public}:80`);
    }
    const texts = setup.world.machine.received().map(({ text }) => text);
    for (const runtime of setup.world.runtimes)
      expect(texts).toContainEqual(expect.stringContaining(`GET /${runtime}`));
  });

  test("a tenant has no permissions outside its namespace", async () => {
    expect(await setup.mallory.request("GET", "/api/v1/namespaces/alice/pods")).toMatchObject({ status: 403 });
    expect(await setup.mallory.ask("web", 8000, "/diary", { namespace: "alice" })).toMatchObject({ status: 403 });
  });

  test("a user without privileges can run programs on the machine", async () => {
    const { stdout } = await setup.world.machine.runAsNobody("id", "-u");
    expect(stdout.trim()).toBe("65534");
  });
});
