import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openNodeImages } from "../../src/machine-setup.ts";
import { pods } from "../../src/resources.ts";
import { cannotRun, testedRuntimes } from "../../src/testing/runtimes.ts";
import { isReady, namespace } from "../../src/testing/test-api.ts";
import { openTestBox, soon, statusOf, type TestBox } from "../../src/testing/test-box.ts";
import { file, writeTestArchive } from "../../src/testing/test-image.ts";

describe.skipIf(cannotRun)("changing the image of a running container", () => {
  let box: TestBox;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "replace-int-"));
    box = await openTestBox();
    const images = await openNodeImages({ dataDir: box.dataDir });
    const program = await readFile("/bin/busybox");
    const links = ["sh", "cat", "sleep", "touch", "ls"].map((name) => ({
      name: `bin/${name}`,
      type: "symlink" as const,
      linkname: "busybox",
    }));
    for (const version of ["one", "two"]) {
      const busybox = { name: "bin/busybox", type: "file" as const, mode: 0o755, content: program };
      const image = { layers: [[busybox, ...links, file("version", version)]] };
      await images.load(await writeTestArchive(folder, image, `app:${version}`));
    }
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  test.for(testedRuntimes)("restarts it on a new root filesystem with %s", async (runtimeClassName) => {
    const command = ["/bin/sh", "-c", 'trap "exit 0" TERM; sleep 1000 & wait'];
    const container = { name: "main", image: "app:one", imagePullPolicy: "Never", command };
    const name = `app-${runtimeClassName}`;
    await box.create(name, { spec: { runtimeClassName, restartPolicy: "Never", containers: [container] } });
    const first = await box.api.until(name, isReady);
    expect(await box.shell(name, "cat /version; touch /written; ls /written")).toBe("one/written");
    const body = { spec: { containers: [{ ...container, image: "app:two" }] } };
    await box.api.client.patch(pods, { namespace, name }, { type: "merge", body });
    const second = await box.api.until(name, (pod) => isReady(pod) && statusOf(pod)?.restartCount === 1);
    expect(statusOf(second)?.imageID).not.toBe(statusOf(first)?.imageID);
    expect(await box.shell(name, "cat /version; ls /written 2>/dev/null")).toBe("two");
    await expect
      .poll(() => box.events(name), soon)
      .toContain("Killing: Container main definition changed, will be restarted");
    await box.remove(name);
  });
});
