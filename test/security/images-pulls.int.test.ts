import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Images, openImages } from "../../packages/node/src/image/open-images.ts";
import { IsolatedPulls, removePullNetns } from "../../packages/node/src/image/pull-network.ts";
import { type Layout, layoutOf } from "../../packages/node/src/layout.ts";
import { file, type TestImage } from "../../packages/node/src/testing/test-image.ts";
import { startRegistry } from "../../packages/node/src/testing/test-registry.ts";
import {
  type HostileRegistry,
  openOutside,
  outsideAddress,
  ownAddress,
  startHostileRegistry,
} from "./images-registry.ts";
import { startLoopbackService } from "./loopback-service.ts";
import { noWorld } from "./why-no-world.ts";

const image = (text: string): TestImage => ({ layers: [[file("hello", text)]] });
const token = (name: string): string => Buffer.from(`${name}:secret`).toString("base64");

describe.skipIf(noWorld)("a hostile registry", () => {
  let folder: string;
  let outside: Awaited<ReturnType<typeof openOutside>>;
  let registry: HostileRegistry;
  /** A service on the machine's loopback that only the machine may reach. */
  let service: Server;
  let reached: string[];
  let layout: Layout;
  let pulls: IsolatedPulls;
  let images: Images;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "hostile-registry-"));
    outside = await openOutside();
    registry = await startHostileRegistry(folder, outside.netns);
    process.env["SSL_CERT_FILE"] = registry.certificate;
    service = await startLoopbackService((url) => reached.push(url));
  });
  afterAll(async () => {
    service?.close();
    await registry?.[Symbol.asyncDispose]();
    await outside?.[Symbol.asyncDispose]();
    delete process.env["SSL_CERT_FILE"];
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    layout = layoutOf(await mkdtemp(join(folder, "data-")));
    pulls = new IsolatedPulls(layout);
    reached = [];
    registry.meddle = undefined;
    registry.asked.length = 0;
    const limits = { imageBytes: 2 ** 20, imageEntries: 1000 };
    images = await openImages({ layout, network: pulls, limits, pace: { spanMs: 3000, leastBytes: 1000 } });
  });
  afterEach(async () => {
    await pulls[Symbol.asyncDispose]();
    await removePullNetns(layout);
    await rm(layout.runDir, { recursive: true, force: true });
  });

  const local = (): string => `127.0.0.1:${(service.address() as { port: number }).port}`;
  const failure = (name: string): Promise<string> =>
    images.resolve(name, { namespace: "mallory" }).then(
      () => "pulled",
      (error: unknown) => (error as Error).message,
    );
  const textOf = async (name: string): Promise<string> => {
    const { layers } = await images.resolve(name);
    return readFile(join(layers[0] ?? "", "hello"), "utf8");
  };

  test("an honest registry outside is reached, through the proxy, over HTTPS", async () => {
    await registry.put(image("honest"), "app:v1");
    expect(await textOf(`${registry.address}/app:v1`)).toBe("honest");
  });

  test("image names do not reveal open ports of the machine", async () => {
    const open = await failure(`${local()}/x:v1`);
    const closed = await failure("127.0.0.1:9/x:v1");
    const metadata = await failure("169.254.169.254/x:v1");
    const own = await failure(`${ownAddress}:443/x:v1`);
    const named = await failure("localhost:22/x:v1");
    const shape = (text: string): string => text.replaceAll(/"[^"]*"/g, '""');
    expect(new Set([open, closed, metadata, own, named].map(shape)).size).toBe(1);
    expect(open).toContain("node.images.registries");
    expect(reached).toEqual([]);
  });

  test.for([
    ["a manifest elsewhere", "/manifests/"],
    ["a layer elsewhere", "/blobs/"],
  ] as const)("a redirect to the machine: %s", async ([, part]) => {
    await registry.put(image("redirected"), "app:v2");
    registry.meddle = (path, answer) => {
      if (!path.includes(part)) return false;
      answer.writeHead(307, { location: `http://${local()}/stolen` }).end();
      return true;
    };
    expect(await failure(`${registry.address}/app:v2`)).not.toBe("pulled");
    expect(reached).toEqual([]);
  });

  test("a token server on the machine is not reached", async () => {
    registry.meddle = (_path, answer) => {
      const challenge = `Bearer realm="http://${local()}/token",service="registry"`;
      answer.writeHead(401, { "www-authenticate": challenge }).end("{}");
      return true;
    };
    expect(await failure(`${registry.address}/app:v3`)).not.toBe("pulled");
    expect(reached).toEqual([]);
  });

  test("a registry that never stops sending is cut off, and leaves nothing", async () => {
    await registry.put(image("endless"), "app:v4");
    registry.meddle = (path, answer) => {
      if (!path.includes("/blobs/")) return false;
      answer.writeHead(200, { "content-type": "application/octet-stream" });
      const send = (): void => {
        while (!answer.destroyed && answer.write(Buffer.alloc(64 * 1024)));
        if (!answer.destroyed) answer.once("drain", send);
      };
      send();
      return true;
    };
    expect(await failure(`${registry.address}/app:v4`)).not.toBe("pulled");
    expect(await images.list()).toEqual([]);
  });

  test("a registry that sends slowly blocks only pulls of its own namespace", async () => {
    await registry.put(image("quick"), "quick:v1");
    registry.meddle = (path, answer) => {
      if (!path.includes("/slow-")) return false;
      answer.writeHead(200, { "content-type": "application/json" }).write("{");
      return true;
    };
    const stop = new AbortController();
    const slow = Array.from({ length: 40 }, (_, index) =>
      images
        .resolve(`${registry.address}/slow-${index}:v1`, { namespace: "mallory", signal: stop.signal })
        .catch(String),
    );
    let ended = 0;
    for (const one of slow) void one.then(() => ended++);
    await expect.poll(() => registry.asked.filter((path) => path.includes("/slow-")).length).toBeGreaterThan(0);
    await images.resolve(`${registry.address}/quick:v1`, { namespace: "alice" });
    expect(ended).toBeLessThan(slow.length);
    stop.abort();
    await Promise.all(slow);
  });

  test("a registry that is slower than the minimum is aborted", async () => {
    registry.meddle = (_path, answer) => {
      answer.writeHead(200, { "content-type": "application/json" }).write("{");
      return true;
    };
    expect(await failure(`${registry.address}/slow:v1`)).toContain("the registry is too slow");
  });

  test("a registry on loopback is reached while the operator configures it, and no other port there", async () => {
    const own = await mkdtemp(join(folder, "own-"));
    await using named = await startRegistry(own);
    await named.push(image("the operator's"), "app:v1");
    let registries = [{ name: named.address, insecure: true }];
    await using opened = new IsolatedPulls(layout);
    const store = await openImages({ layout, network: opened, readRegistries: async () => registries });
    await store.resolve(`${named.address}/app:v1`, { namespace: "alice" });
    expect(await store.list()).toMatchObject([{ names: [`${named.address}/app:v1`] }]);
    await expect(store.resolve(`${local()}/app:v1`)).rejects.toThrow("node.images.registries");
    registries = [];
    await expect(store.resolve(`${named.address}/app:v1`, { policy: "Always" })).rejects.toThrow("no registry that");
    expect(reached).toEqual([]);
  });

  describe("with logins", () => {
    const logins = { [`${outsideAddress}:443`]: { auth: token("alice") } };
    /** Serves repositories whose names begin with "private" only to alice. */
    const guarded = (): void => {
      registry.meddle = (path, answer, { headers }) => {
        if (!path.startsWith("/v2/private") && path !== "/v2/") return false;
        if (headers.authorization === `Basic ${token("alice")}`) return false;
        if (path === "/v2/" && headers.authorization !== undefined) return false;
        answer.writeHead(401, { "www-authenticate": 'Basic realm="r"' }).end('{"errors":[{"code":"UNAUTHORIZED"}]}');
        return true;
      };
    };

    test("an image pulled with one tenant's login cannot be used by others, by tag, by digest, or with policy Never", async () => {
      const { manifest } = await registry.put(image("private to alice"), "private/app:v1");
      guarded();
      const names = [`${registry.address}/private/app:v1`, `${registry.address}/private/app@${manifest}`];
      await images.resolve(names[0] ?? "", { logins, namespace: "alice" });
      for (const name of names) {
        for (const policy of ["Never", "IfNotPresent", "Always"] as const) {
          const stolen = images.resolve(name, { policy, namespace: "mallory" });
          await expect(stolen).rejects.toMatchObject({
            reason: policy === "Never" ? "ErrImageNeverPull" : "ErrImagePull",
          });
          const other = { [registry.address]: { auth: token("mallory") } };
          await expect(images.resolve(name, { policy, logins: other, namespace: "mallory" })).rejects.toThrow(
            /Cannot (?:pull|use) image/,
          );
        }
      }
      const asked = registry.asked.length;
      await images.resolve(names[0] ?? "", { logins, policy: "Never", namespace: "alice" });
      expect(registry.asked).toHaveLength(asked);
    });

    test("a manifest that names another tenant's layers gives no access to them", async () => {
      const own = await registry.put(image("private to alice"), "private/app:v2");
      guarded();
      await images.resolve(`${registry.address}/private/app:v2`, { logins, namespace: "alice" });
      const theft = registry.meddle;
      // Mallory's repository has the victim's manifest and configuration, and no layers.
      registry.meddle = (path, answer, asked) => {
        if (path.startsWith("/v2/mallory/blobs/") && own.layers.some((digest) => path.endsWith(digest))) {
          answer.writeHead(404).end('{"errors":[{"code":"BLOB_UNKNOWN"}]}');
          return true;
        }
        return theft?.(path, answer, asked) ?? false;
      };
      const stolen = images.resolve(`${registry.address}/mallory@${own.manifest}`, { namespace: "mallory" });
      await expect(stolen).rejects.toMatchObject({ reason: "ErrImagePull" });
    });

    test("a configuration that names another tenant's layer gives no access to it", async () => {
      const secret = image("private to alice, too");
      const own = await registry.put(secret, "private/app:v3");
      guarded();
      await images.resolve(`${registry.address}/private/app:v3`, { logins, namespace: "alice" });
      const forged = await registry.put(
        { ...secret, encode: () => Buffer.from("junk that unpacks to nothing") },
        "forged:v1",
      );
      expect(forged.config).toBe(own.config);
      const stolen = images.resolve(`${registry.address}/forged:v1`, { namespace: "mallory" });
      await expect(stolen).rejects.toMatchObject({ reason: "ErrImagePull" });
    });
  });
});
