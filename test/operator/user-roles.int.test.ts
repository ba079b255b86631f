import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Kubernetes, startKubernetes } from "../kube-apiserver/start.ts";
import { runCli } from "./run-cli.ts";

const crds = join(import.meta.dirname, "../../deploy/crds");

/** Each is bound to one user in the namespace `team`. */
const roles = ["view", "edit", "admin"] as const;
type Role = (typeof roles)[number];
const userOf = (role: Role): string => `${role}-user`;
const waitMs = 60_000;

const owned = new AsyncDisposableStack();
let kubernetes: Kubernetes;
beforeAll(async () => {
  // The garbage collector completes the deletion of what the uninstall removes.
  const controllers = ["clusterrole-aggregation-controller", "garbage-collector-controller", "namespace-controller"];
  kubernetes = owned.use(await startKubernetes({ users: roles.map((role) => ({ name: userOf(role) })), controllers }));
  await kubectl("create", "namespace", "team");
  for (const role of roles) {
    await kubectl("create", "rolebinding", role, "-n", "team", `--clusterrole=${role}`, `--user=${userOf(role)}`);
  }
}, 300_000);
afterAll(() => owned.disposeAsync());

async function kubectl(...words: string[]): Promise<void> {
  const { code, stderr } = await kubernetes.kubectl(words);
  if (code !== 0) throw new Error(`kubectl ${words.join(" ")}: ${stderr}`);
}

async function cli(...words: string[]): Promise<void> {
  const { code, stderr } = await runCli([...words, "--kubeconfig", kubernetes.admin.kubeconfig]);
  if (code !== 0) throw new Error(`agent-sandbox ${words.join(" ")}: ${stderr}`);
}

async function may(role: Role, verb: string, resource: string, namespace = "team"): Promise<boolean> {
  const words = ["auth", "can-i", verb, resource, "-n", namespace];
  const { stdout, stderr } = await kubernetes.kubectl(words, { user: kubernetes.user(userOf(role)) });
  const answer = stdout.trim();
  if (answer !== "yes" && answer !== "no") throw new Error(`kubectl ${words.join(" ")}: ${stdout}${stderr}`);
  return answer === "yes";
}

const sandboxes = "sandboxes.agents.x-k8s.io";
const snapshots = "sandboxsnapshots.snapshots.agents.x-k8s.io";
const group = "extensions.agents.x-k8s.io";

/** Each action is a verb, a resource and perhaps a subresource. */
const core = {
  reading: [`list ${sandboxes}`, `get ${sandboxes} status`, `watch ${snapshots}`, `get ${snapshots} status`],
  writing: [
    `connect ${sandboxes}`,
    `create ${sandboxes}`,
    `patch ${sandboxes}`,
    `deletecollection ${sandboxes}`,
    `delete ${snapshots}`,
    `get ${snapshots} export`,
  ],
};
const extensions = {
  reading: ["sandboxtemplates", "sandboxclaims", "sandboxwarmpools"].map((kind) => `list ${kind}.${group}`),
  writing: [
    ...["sandboxtemplates", "sandboxclaims", "sandboxwarmpools"].map((kind) => `create ${kind}.${group}`),
    `patch sandboxwarmpools.${group} scale`,
  ],
};
/** What only the manager or an administrator may do. */
const reserved = [
  `patch ${sandboxes} status`,
  `update ${sandboxes} finalizers`,
  `patch sandboxclaims.${group} status`,
  `create ${snapshots} import`,
];

/** The actions of this file that the role allows in the namespace, in one request of kubectl. */
async function allowed(role: Role, namespace = "team"): Promise<string[]> {
  const actions = [core, extensions].flatMap(({ reading, writing }) => [...reading, ...writing]).concat(reserved);
  const items = actions.map((action) => {
    const [verb, name = "", subresource] = action.split(" ");
    const [resource, ...parts] = name.split(".");
    const resourceAttributes = { namespace, verb, resource, group: parts.join("."), subresource };
    return { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
  });
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const user = kubernetes.user(userOf(role));
  const words = ["create", "-f", "-", "-o", 'jsonpath={.status.allowed}{"\\n"}'];
  const { stdout, stderr } = await kubernetes.kubectl(words, { stdin, user });
  const answers = stdout.trim().split("\n");
  if (answers.length !== actions.length) throw new Error(`kubectl create: ${stdout}${stderr}`);
  return actions.filter((_, index) => answers[index] === "true");
}

test("without an installation the default roles allow nothing with these kinds", async () => {
  await kubectl("apply", "--server-side", "-f", crds);
  for (const role of roles) expect(await allowed(role)).toEqual([]);
}, 120_000);

test("with Sandboxes only, the default roles allow nothing with templates, pools and claims", async () => {
  await cli("install", "--core", "--no-router", "--no-wait");
  await expect.poll(() => may("admin", "connect", sandboxes), { timeout: waitMs }).toBe(true);
  expect(await allowed("view")).toEqual(core.reading);
  expect(await allowed("edit")).toEqual([...core.reading, ...core.writing]);
  expect(await allowed("admin")).toEqual([...core.reading, ...core.writing]);
}, 120_000);

test("view may read, edit and admin may also write and connect, in their own namespace only", async () => {
  await cli("install", "--no-router", "--no-wait");
  await expect.poll(() => may("admin", "create", `sandboxclaims.${group}`), { timeout: waitMs }).toBe(true);
  const reading = [...core.reading, ...extensions.reading];
  const everything = [core, extensions].flatMap((kinds) => [...kinds.reading, ...kinds.writing]);
  expect(await allowed("view")).toEqual(reading);
  expect(await allowed("edit")).toEqual(everything);
  expect(await allowed("admin")).toEqual(everything);
  for (const role of roles) expect(await allowed(role, "default")).toEqual([]);
  expect(await may("edit", "connect", sandboxes)).toBe(true);
  expect(await may("edit", "connect", sandboxes, "default")).toBe(false);
  expect(await may("view", "list", sandboxes)).toBe(true);
  expect(await may("view", "connect", sandboxes)).toBe(false);
}, 120_000);

test("uninstall takes the permissions away again", async () => {
  await cli("uninstall", "--keep-objects");
  for (const role of roles) await expect.poll(() => allowed(role), { timeout: waitMs }).toEqual([]);
}, 240_000);
