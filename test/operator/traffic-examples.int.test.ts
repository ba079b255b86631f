import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Kubernetes, startKubernetes } from "../kube-apiserver/start.ts";

const examples = join(import.meta.dirname, "../../deploy/examples");

const owned = new AsyncDisposableStack();
let kubernetes: Kubernetes;
beforeAll(async () => {
  kubernetes = owned.use(await startKubernetes());
  await kubectl("create", "namespace", "agent-sandbox-system");
}, 300_000);
afterAll(() => owned.disposeAsync());

async function kubectl(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await kubernetes.kubectl(words);
  if (code !== 0) throw new Error(`kubectl ${words.join(" ")}: ${stderr}`);
  return stdout;
}

/** The folder of the CRDs of the Gateway API, at the version of gateway-api/go.mod. */
function gatewayCrds(): string {
  const cwd = join(import.meta.dirname, "gateway-api");
  const words = ["mod", "download", "-json", "sigs.k8s.io/gateway-api"];
  const { Dir } = JSON.parse(execFileSync("go", words, { cwd, encoding: "utf8" })) as { readonly Dir: string };
  return join(Dir, "config/crd/standard");
}

/** Unknown fields are errors. */
const apply = (file: string): Promise<string> =>
  kubectl("apply", "--validate=strict", "--server-side", "-f", join(examples, file));

test("the example of an Ingress is accepted", async () => {
  expect(await apply("ingress.yaml")).toContain("ingress.networking.k8s.io/sandbox-router serverside-applied");
});

test("the example of a Gateway is accepted by the CRDs of the Gateway API", async () => {
  await kubectl("create", "-f", gatewayCrds());
  await kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=60s");
  const applied = await apply("gateway.yaml");
  expect(applied).toContain("gateway.gateway.networking.k8s.io/sandbox-router serverside-applied");
  expect(applied).toContain("httproute.gateway.networking.k8s.io/sandbox-router serverside-applied");
});
