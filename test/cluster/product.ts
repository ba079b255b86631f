import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { imagesIn } from "../../packages/cli/src/operator/settings.ts";
import { newestChange } from "../../scripts/newest-change.ts";
import { buildOperatorImages } from "../../scripts/operator-images/build-images.ts";
import { type Access, kubectl, tryKubectl } from "./kubectl.ts";
import { loadArchive } from "./node/images.ts";
import { manager } from "./stop-manager.ts";

const root = join(import.meta.dirname, "../..");
const deploy = join(root, "deploy");

export const systemNamespace = "agent-sandbox-system";
const router = "sandbox-router";

/** Installs the manager and the router from the manifests in `deploy`, and waits until they are ready. */
export async function installProduct(access: Access): Promise<void> {
  const apply = (...files: string[]): Promise<string> =>
    kubectl(access, [
      "apply",
      "--server-side",
      "--force-conflicts",
      ...files.flatMap((file) => ["-f", join(deploy, file)]),
    ]);
  const isUpgrade = (await tryKubectl(access, ["-n", systemNamespace, "get", "deployment", manager])).code === 0;
  await apply("manifest.yaml", "extensions.yaml");
  await ensureRouterKey(access);
  await apply("router.yaml", "router-runtime-rbac.yaml");
  // The images may be others of the same name.
  if (isUpgrade) await kubectl(access, ["-n", systemNamespace, "rollout", "restart", "deployment"]);
  await untilInstalled(access);
}

async function ensureRouterKey(access: Access): Promise<void> {
  const secret = ["-n", systemNamespace, "secret", "sandbox-router-keys"];
  if ((await tryKubectl(access, ["get", ...secret])).code === 0) return;
  const [inNamespace, namespace = "", kind = "", name = ""] = secret;
  const key = `--from-literal=key=${randomBytes(32).toString("hex")}`;
  await kubectl(access, ["create", inNamespace ?? "-n", namespace, kind, "generic", name, key]);
}

/** The address of the router, which this machine reaches as a load balancer does. */
export async function routerUrl(access: Access): Promise<string> {
  const given = process.env["TEST_CLUSTER_ROUTER"];
  if (given !== undefined) return given;
  const words = ["-n", systemNamespace, "get", "service", "sandbox-router-svc", "-o", "jsonpath={.spec.clusterIP}"];
  return `http://${await kubectl(access, words)}:8080`;
}

/** Waits until both Deployments have rolled out. */
export async function untilInstalled(access: Access): Promise<void> {
  for (const deployment of [manager, router]) {
    await kubectl(access, ["-n", systemNamespace, "rollout", "status", `deployment/${deployment}`, "--timeout=110s"]);
  }
}

/** The images of the working tree, which are built if a source is newer, and given to the node as an administrator does. */
export async function loadProductImages(): Promise<void> {
  const made = `${root}/dist/images`;
  const archives = Object.values(imagesIn()).map(
    (name) => `${made}/${name.replace(/^.*\//, "").replace(":", "-")}.oci.tar`,
  );
  const sources = ["packages", "sandboxd", "scripts/operator-images", "scripts/oci", "package-lock.json"];
  const changed = newestChange(sources.map((path) => `${root}/${path}`));
  const isOld = archives.some((file) => !existsSync(file) || statSync(file).mtimeMs < changed);
  if (isOld) await buildOperatorImages(made);
  for (const file of archives) await loadArchive(file);
}
