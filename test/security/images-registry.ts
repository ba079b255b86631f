import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";
import { listenInNetns } from "../../packages/node/src/system/listen-in-netns.ts";
import { runCommand } from "../../packages/node/src/system/run-command.ts";
import { type TestImage, writeTestImage } from "../../packages/node/src/testing/test-image.ts";

/**
 * Addresses for network tests (RFC 2544): a machine outside, and our end of the link to it. Test files run at the same time in
 * separate processes, so each has its own network.
 */
const network = (process.pid % 2 ** 14) * 4;
const addressAt = (host: number): string => `198.19.${network >> 8}.${(network & 255) + host}`;
export const outsideAddress: string = addressAt(2);
export const ownAddress: string = addressAt(1);

/** A machine outside this one: a network namespace at the end of a link. */
export async function openOutside(): Promise<AsyncDisposable & { readonly netns: string }> {
  const netns = `asreg-${process.pid}`;
  const link = `asreg${process.pid}`.slice(0, 15);
  const ip = (...args: string[]): Promise<string> => runCommand("ip", args);
  await ip("netns", "add", netns);
  await ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", netns);
  await ip("addr", "add", `${ownAddress}/30`, "dev", link);
  await ip("link", "set", link, "up");
  for (const words of [`addr add ${outsideAddress}/30 dev eth0`, "link set eth0 up", "link set lo up"]) {
    await ip("-n", netns, ...words.split(" "));
  }
  return {
    netns: `/run/netns/${netns}`,
    [Symbol.asyncDispose]: async () => {
      await runCommand("ip", ["link", "del", link]);
      await runCommand("ip", ["netns", "del", netns]);
    },
  };
}

export type Answer = (path: string, answer: ServerResponse, asked: IncomingMessage) => boolean;

/** A registry over HTTPS whose responses a test can replace. */
export interface HostileRegistry extends AsyncDisposable {
  readonly address: string;
  /** The requested paths, without `/v2/`. */
  readonly asked: string[];
  /** Returns true if it has sent the response itself. */
  meddle: Answer | undefined;
  /** The certificate to trust. */
  readonly certificate: string;
  /** Adds an image and returns the digests of its manifest and its parts. */
  put(image: TestImage, name: string): Promise<PutImage>;
}

export interface PutImage {
  readonly manifest: string;
  readonly config: string;
  readonly layers: readonly string[];
}

export async function startHostileRegistry(folder: string, netns: string): Promise<HostileRegistry> {
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const subject = ["-subj", "/CN=registry", "-addext", `subjectAltName=IP:${outsideAddress},IP:127.0.0.1`];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  await runCommand("openssl", ["req", ...kind, "-keyout", key, "-out", certificate, ...subject]);
  const blobs = new Map<string, Buffer>();
  const tags = new Map<string, string>();
  const asked: string[] = [];
  const server = createServer({ key: await readFile(key), cert: await readFile(certificate) }, (request, answer) => {
    const path = request.url ?? "";
    if (path !== "/v2/") asked.push(path);
    if (registry.meddle?.(path, answer, request)) return;
    if (path === "/v2/") return void answer.end("{}");
    const [, name = "", what, reference = ""] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(path) ?? [];
    const digest = what === "manifests" ? (tags.get(`${name}:${reference}`) ?? reference) : reference;
    const content = blobs.get(digest);
    if (content === undefined) return void answer.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
    const type = what === "manifests" ? "application/vnd.oci.image.manifest.v1+json" : "application/octet-stream";
    answer.writeHead(200, { "content-type": type, "content-length": content.length, "docker-content-digest": digest });
    answer.end(request.method === "HEAD" ? undefined : content);
  });
  server.listen({ fd: listenInNetns(netns, outsideAddress, 443) });
  await once(server, "listening");
  let count = 0;
  const registry: HostileRegistry = {
    address: `${outsideAddress}:443`,
    asked,
    meddle: undefined,
    certificate,
    put: async (image, name) => {
      const layout = join(folder, `image-${count++}`);
      await writeTestImage(layout, image);
      const index = JSON.parse(await readFile(join(layout, "index.json"), "utf8")) as {
        manifests: [{ digest: string }];
      };
      const manifest = index.manifests[0].digest;
      const read = (digest: string): Promise<Buffer> => readFile(join(layout, "blobs/sha256", digest.slice(7)));
      const text = await read(manifest);
      const parts = JSON.parse(text.toString()) as { config: { digest: string }; layers: { digest: string }[] };
      const layers = parts.layers.map(({ digest }) => digest);
      for (const digest of [manifest, parts.config.digest, ...layers]) blobs.set(digest, await read(digest));
      tags.set(name, manifest);
      return { manifest, config: parts.config.digest, layers };
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return registry;
}

export const sha256 = (content: Buffer | string): string =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`;
