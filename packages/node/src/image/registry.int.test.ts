import { createHash } from "node:crypto";
import { globSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { layoutOf } from "../layout.ts";
import { type FaultyProxy, startFaultyProxy } from "../testing/faulty-proxy.ts";
import { file, type TestImage } from "../testing/test-image.ts";
import { login, startRegistry, type TestRegistry } from "../testing/test-registry.ts";
import type { ImportProgress } from "./import-progress.ts";
import { type Images, openImages } from "./open-images.ts";

const base = Array.from({ length: 20 }, (_, index) => file(`base/${index}`, "x".repeat(5000) + Math.random()));
const image = (text: string): TestImage => ({
  layers: [base, [file("hello", text)]],
  config: { Entrypoint: ["/hello"], Cmd: ["world"], Env: ["GREETING=hi"], WorkingDir: "/base", User: "1000" },
});

describe("images from a registry", () => {
  let folder: string;
  let registry: TestRegistry;
  let proxy: FaultyProxy;
  let dataDir: string;
  let images: Images;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "registry-int-"));
    registry = await startRegistry(folder);
    proxy = await startFaultyProxy(registry.port);
    await registry.push(image("one"), "some/thing:v1");
  });
  afterAll(async () => {
    await proxy?.[Symbol.asyncDispose]();
    await registry?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "images-int-"));
    proxy.fault = undefined;
    proxy.asked.length = 0;
    const registries = [{ name: proxy.address, insecure: true }];
    images = await openImages({ layout: layoutOf(dataDir), registries });
  });
  afterEach(async () => {
    await rm(dataDir, { recursive: true, force: true });
    await rm(layoutOf(dataDir).runDir, { recursive: true, force: true });
  });

  const textOf = async (name: string): Promise<string> => {
    const { layers } = await images.resolve(name, { policy: "Never" });
    return readFile(join(layers[0] ?? "", "hello"), "utf8");
  };
  test("a pull reports each layer that it unpacks", async () => {
    const seen: ImportProgress[] = [];
    await images.pull(`${proxy.address}/some/thing:v1`, { onProgress: (progress) => seen.push(progress) });
    expect(seen.filter(({ stage }) => stage === "unpacking")).toEqual([
      { stage: "unpacking", layer: 1, layers: 2 },
      { stage: "unpacking", layer: 2, layers: 2 },
    ]);
  });

  /** The digests of an image's layers, lowest first. */
  const layersOf = async (image: string): Promise<string[]> => {
    const headers = { accept: "application/vnd.oci.image.manifest.v1+json" };
    const response = await fetch(`http://${registry.address}/v2/${image.replace(":", "/manifests/")}`, { headers });
    const { layers } = (await response.json()) as { layers: { digest: string }[] };
    return layers.map(({ digest }) => digest);
  };
  const fetched = (): string[] => proxy.asked.filter((path) => path.includes("/blobs/"));
  const filesUnder = async (path: string): Promise<string[]> =>
    readdir(join(dataDir, "node/images", path)).catch(() => []);

  test("an image is pulled by tag with its layers and configuration, and not pulled again", async () => {
    const name = `${proxy.address}/some/thing:v1`;
    const first = await images.resolve(name);
    expect(first.config).toMatchObject({
      entrypoint: ["/hello"],
      command: ["world"],
      workingDir: "/base",
      user: "1000",
      environment: new Map([
        ["PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        ["GREETING", "hi"],
      ]),
    });
    expect(first.layers).toHaveLength(2);
    expect(await textOf(name)).toBe("one");
    const asked = proxy.asked.length;
    expect(await images.resolve(name)).toEqual(first);
    expect(proxy.asked).toHaveLength(asked);
  });

  test("the policy Always asks the registry and fetches only new blobs", async () => {
    const name = `${proxy.address}/moving:latest`;
    await registry.push(image("before"), "moving:latest");
    await images.resolve(name, { policy: "Always" });
    proxy.asked.length = 0;
    await images.resolve(name, { policy: "Always" });
    expect(fetched()).toEqual([]);
    expect(proxy.asked).not.toEqual([]);
    await registry.push(image("after"), "moving:latest");
    await images.resolve(name, { policy: "Always" });
    expect(await textOf(name)).toBe("after");
    // The configuration and the upper layer. The lower one is in the store.
    expect(new Set(fetched()).size).toBe(2);
    expect(await images.list()).toMatchObject([{ names: [] }, { names: [name] }]);
  });

  test("an image is pulled by digest, and content with another digest is refused", async () => {
    const manifest = await fetch(`http://${registry.address}/v2/some/thing/manifests/v1`, {
      headers: { accept: "application/vnd.oci.image.manifest.v1+json" },
    });
    const body = Buffer.from(await manifest.arrayBuffer());
    const digest = `sha256:${createHash("sha256").update(body).digest("hex")}`;
    const name = `${proxy.address}/some/thing@${digest}`;
    await images.resolve(name);
    expect(await images.list()).toMatchObject([{ names: [], digests: [name] }]);

    const other = `${proxy.address}/other@${digest}`;
    proxy.fault = (path, response) =>
      path.includes("/manifests/")
        ? (answer) => void answer.resume().on("end", () => response.writeHead(200).end(`${body.toString("utf8")} `))
        : undefined;
    await expect(images.resolve(other)).rejects.toThrow(/Cannot pull image ".*other@sha256:.*"/);
    expect(await images.list()).toHaveLength(1);
  });

  test("a layer that is cut off or changed on the way is refused and leaves nothing", async () => {
    for (const damage of [
      (content: Buffer) => content.subarray(0, 100),
      (content: Buffer) => Buffer.concat([content, content]),
    ]) {
      proxy.fault = (path, response) =>
        path.includes("/blobs/")
          ? (answer) =>
              void buffer(answer).then((content) =>
                response.writeHead(200).end(content[0] === 0x1f ? damage(content) : content),
              )
          : undefined;
      await expect(images.resolve(`${proxy.address}/some/thing:v1`)).rejects.toMatchObject({ reason: "ErrImagePull" });
      expect(await images.list()).toEqual([]);
      expect(await filesUnder("layers")).toEqual([]);
      expect(await filesUnder("staging")).toEqual([]);
    }
  });

  test("a pull after an interrupted one does not fetch the same blobs again", async () => {
    const name = `${proxy.address}/some/thing:v1`;
    const [lower = "", upper = ""] = await layersOf("some/thing:v1");
    proxy.fault = (path, response) => (path.endsWith(upper) ? () => response.destroy() : undefined);
    await expect(images.resolve(name)).rejects.toMatchObject({ reason: "ErrImagePull" });
    expect(await images.list()).toEqual([]);
    proxy.fault = undefined;
    proxy.asked.length = 0;
    await images.resolve(name);
    expect(await textOf(name)).toBe("one");
    expect(fetched().some((path) => path.endsWith(upper))).toBe(true);
    expect(fetched().some((path) => path.endsWith(lower))).toBe(false);
  });

  test("a blob that is damaged on the disk is fetched again", async () => {
    const name = `${proxy.address}/some/thing:v1`;
    const [lower = "", upper = ""] = await layersOf("some/thing:v1");
    proxy.fault = (path, response) => (path.endsWith(upper) ? () => response.destroy() : undefined);
    await expect(images.resolve(name)).rejects.toMatchObject({ reason: "ErrImagePull" });
    const [blob = ""] = globSync(`${dataDir}/node/images/blobs/**/${lower.replace("sha256:", "")}`);
    await writeFile(blob, "damaged");
    proxy.fault = undefined;
    proxy.asked.length = 0;
    await images.resolve(name);
    expect(await textOf(name)).toBe("one");
    expect(fetched().filter((path) => path.endsWith(lower))).toHaveLength(1);
  });

  test("an image whose layer is refused is fetched only once", async () => {
    await registry.push({ layers: [[file("../outside", "x")]] }, "some/hostile:v1");
    const name = `${proxy.address}/some/hostile:v1`;
    await expect(images.resolve(name)).rejects.toThrow("Cannot unpack a layer");
    const [layer = ""] = await layersOf("some/hostile:v1");
    expect(fetched().filter((path) => path.endsWith(layer))).toHaveLength(1);
  });

  test("two requests for the same image share one pull", async () => {
    const name = `${proxy.address}/some/thing:v1`;
    await Promise.all([images.resolve(name), images.resolve(name)]);
    expect(fetched()).toHaveLength(3);
  });

  test("a mirror is used before the registry", async () => {
    const mirrored = await openImages({
      layout: layoutOf(dataDir),
      registries: [{ name: "registry.invalid", mirrors: [proxy.address], insecure: true }],
    });
    await mirrored.resolve("registry.invalid/some/thing:v1");
    expect(await mirrored.list()).toMatchObject([{ names: ["registry.invalid/some/thing:v1"] }]);
  });

  test("a private image is pulled only with the right login", async () => {
    const own = await mkdtemp(join(folder, "auth-"));
    await using locked = await startRegistry(own, { auth: true });
    await locked.push(image("secret"), "thing:v1");
    const registries = [{ name: locked.address, insecure: true }];
    const closed = await openImages({ layout: layoutOf(dataDir), registries });
    const name = `${locked.address}/thing:v1`;
    await expect(closed.resolve(name)).rejects.toThrow(/unauthorized|authentication required/i);
    const wrong = { [locked.address]: { auth: Buffer.from("someone:else").toString("base64") } };
    await expect(closed.resolve(name, { logins: wrong })).rejects.toThrow(/unauthorized|authentication required/i);
    await closed.resolve(name, { logins: { [locked.address]: { auth: login } } });
    expect(await closed.list()).toMatchObject([{ names: [name] }]);
  });

  test("a missing image and an invalid reference fail with the kubelet's reasons", async () => {
    await expect(images.resolve(`${proxy.address}/nothing:v1`)).rejects.toMatchObject({ reason: "ErrImagePull" });
    await expect(images.resolve("Not A Name")).rejects.toMatchObject({ reason: "InvalidImageName" });
    await expect(images.resolve("debian", { policy: "Never" })).rejects.toMatchObject({ reason: "ErrImageNeverPull" });
    await expect(images.resolve(`${proxy.address}/some/thing:v1`, { signal: AbortSignal.abort() })).rejects.toThrow(
      /abort/i,
    );
  });
});
