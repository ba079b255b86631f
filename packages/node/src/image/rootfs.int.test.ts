import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sandboxes } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openNodeImages } from "../machine-setup.ts";
import { isReady, keepingMetadata, namespace } from "../testing/test-api.ts";
import { isOver, openTestBox, statusOf, type TestBox } from "../testing/test-box.ts";
import { file, type TestImage, writeTestArchive } from "../testing/test-image.ts";

const tools = ["sh", "cat", "id", "sleep", "ls", "rm", "echo", "touch"];

/** Debian's busybox is one static file, which is enough for an image. */
async function busybox(): Promise<TestImage> {
  const program = await readFile("/bin/busybox");
  return {
    layers: [
      [
        { name: "bin/busybox", type: "file", mode: 0o755, content: program },
        ...tools.map((tool) => ({ name: `bin/${tool}`, type: "symlink" as const, linkname: "busybox" })),
        file("etc/passwd", "root:x:0:0::/:/bin/sh\napp:x:1234:1235::/:/bin/sh\n"),
        file("lower", "from below"),
      ],
      [file("etc/.wh.motd"), file("srv/here", "x", { uid: 1234 })],
    ],
    config: {
      Entrypoint: ["/bin/sh", "-c"],
      Cmd: ["echo $GREETING from $PWD as $(id -u):$(id -g)"],
      Env: ["GREETING=hello"],
      User: "app",
      WorkingDir: "/srv",
    },
  };
}

describe("Pods with images from archives", () => {
  let box: TestBox;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "rootfs-int-"));
    box = await openTestBox();
    // A second store on the same folder, as a CLI command opens it.
    const images = await openNodeImages({ dataDir: box.dataDir });
    await images.load(await writeTestArchive(folder, await busybox(), "busybox:test"));
  });
  afterAll(async () => {
    await box?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  test.for(["runc", "gvisor"])(
    "a container uses the command, variables, user and working directory of its image under %s",
    async (runtime) => {
      const container = { name: "main", image: "busybox:test", imagePullPolicy: "Never" };
      const spec = { runtimeClassName: runtime, restartPolicy: "Never" as const };
      await box.create(`own-${runtime}`, { spec: { ...spec, containers: [container] } });
      await box.create(`args-${runtime}`, {
        spec: { ...spec, containers: [{ ...container, args: ["cat /lower; ls -A /etc /srv"] }] },
      });
      const pod = await box.api.until(`own-${runtime}`, isOver);
      expect(await box.log(`own-${runtime}`)).toBe("hello from /srv as 1234:1235\n");
      expect(statusOf(pod)?.imageID).toMatch(/^sha256:[0-9a-f]{64}$/);
      await box.api.until(`args-${runtime}`, isOver);
      expect(await box.log(`args-${runtime}`)).toMatch(
        /^from below\/etc:\n(?:[a-z.]+\n)*passwd\n(?:[a-z.]+\n)*\n\/srv:\nhere\n$/,
      );
      await Promise.all([box.remove(`own-${runtime}`), box.remove(`args-${runtime}`)]);
    },
  );

  test("an image that may not be pulled and an invalid image name are reported in the status", async () => {
    const cases = {
      never: { image: "nothing:test", imagePullPolicy: "Never" },
      name: { image: "No Name", imagePullPolicy: "Never" },
    };
    for (const [name, container] of Object.entries(cases)) {
      await box.create(name, { spec: { containers: [{ name: "main", ...container }] } });
    }
    const reasonOf = async (name: string): Promise<string | undefined> => {
      const pod = await box.api.until(name, (one) => /Image/.test(statusOf(one)?.state?.waiting?.reason ?? ""));
      return statusOf(pod)?.state?.waiting?.reason;
    };
    expect(await Promise.all([reasonOf("never"), reasonOf("name")])).toEqual(["ErrImageNeverPull", "InvalidImageName"]);
    await Promise.all([box.remove("never"), box.remove("name")]);
  });

  test.for(["runc", "gvisor"])(
    "the next Pod of a Sandbox finds the files of the one before under %s",
    async (runtime) => {
      const sandbox = await box.api.client.create(sandboxes, {
        apiVersion: "agents.x-k8s.io/v1beta1",
        kind: "Sandbox",
        metadata: { namespace, name: "kept" },
        spec: { podTemplate: { spec: { containers: [] } } },
      });
      const metadata = keepingMetadata(sandbox);
      const container = { name: "main", image: "busybox:test", command: ["/bin/sh", "-c", "sleep 1000"] };
      const spec = { runtimeClassName: runtime, containers: [{ ...container, securityContext: { runAsUser: 0 } }] };
      await box.create("kept", { metadata, spec });
      await box.api.until("kept", isReady);
      await box.shell("kept", "echo mine >/mine; rm /lower");
      await box.remove("kept", 0);
      await box.create("kept", { metadata, spec });
      await box.api.until("kept", isReady);
      expect(await box.shell("kept", "cat /mine; ls /lower 2>&1")).toBe("mine\nls: /lower: No such file or directory");
      await box.create("other", { spec });
      await box.api.until("other", isReady);
      expect(await box.shell("other", "ls /mine 2>&1; cat /lower")).toBe(
        "ls: /mine: No such file or directory\nfrom below",
      );
      await Promise.all([box.remove("kept", 0), box.remove("other", 0)]);
      // The same annotation on a Pod that the Sandbox does not control.
      await box.create("thief", { metadata, spec });
      await box.api.until("thief", isReady);
      expect(await box.shell("thief", "ls /mine 2>&1")).toBe("ls: /mine: No such file or directory");
      expect(box.events("thief").join()).toContain("KeepRootfsIgnored");
      await box.remove("thief", 0);
      await box.api.client.delete(sandboxes, { namespace, name: "kept" });
    },
  );
});
