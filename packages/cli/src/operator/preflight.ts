import { isReason, type KubeObject, type Resource } from "@agent-sandbox/kube/requests";
import type { Connection } from "../client/connect.ts";
import { fetchJson, resourceOfKind, UnservedKindError } from "../client/discovery.ts";
import { CommandError } from "../command-error.ts";
import { version } from "../version.ts";
import { applyOne } from "./apply-one.ts";
import type { OperatorObject } from "./manifest.ts";
import { definitions, deployments, namespaces, resourceOf } from "./resources.ts";
import { managerName } from "./settings.ts";

/** `preStop.sleep` exists since 1.30. */
const oldestMinor = 30;

interface LiveDeployment extends KubeObject {
  readonly spec?: { readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> } };
}

/** The installation that exists. */
export interface Installed {
  readonly version: string | undefined;
}

/** Throws if the server is too old, or is a box. */
export async function checkServer({ transport, box }: Connection): Promise<void> {
  const advice = "a box contains manager and router; pass --kubeconfig or --context to install in a cluster";
  if (box !== undefined) throw new CommandError(`Cannot install in the box: ${advice}`);
  const found = (await fetchJson(transport, "/version")) as { major?: string; minor?: string; gitVersion?: string };
  const minor = Number.parseInt(found.minor ?? "", 10);
  if (found.major !== "1" || !(minor >= oldestMinor)) {
    throw new CommandError(
      `Cannot install in Kubernetes ${found.gitVersion ?? "?"}: 1.${oldestMinor} or newer is needed`,
    );
  }
  try {
    await resourceOfKind(transport, deployments);
  } catch (error) {
    if (!(error instanceof UnservedKindError)) throw error;
    throw new CommandError(`Cannot install: the server runs no Deployments; ${advice}`, { cause: error });
  }
}

/** Throws if something that is there would make the installation fail later. Returns the installation that exists. */
export async function checkLeftovers(
  { client }: Connection,
  objects: readonly OperatorObject[],
  namespace: string,
): Promise<Installed | undefined> {
  const home = await client.get(namespaces, { name: namespace }).catch(missing);
  if (home?.metadata?.deletionTimestamp !== undefined) {
    throw new CommandError(
      `Cannot install: the namespace "${namespace}" is being deleted; run this again when it is gone`,
    );
  }
  for (const { metadata } of objects.filter(({ kind }) => kind === "CustomResourceDefinition")) {
    const live = await client.get(definitions, { name: metadata.name }).catch(missing);
    if (live?.metadata?.deletionTimestamp === undefined) continue;
    throw new CommandError(
      `Cannot install: the CRD "${metadata.name}" is being deleted and waits for its objects; remove their finalizers, or run this again when it is gone`,
    );
  }
  const live: LiveDeployment | undefined = await client
    .get(deployments, { namespace, name: managerName })
    .catch(missing);
  if (live === undefined) return undefined;
  const { labels = {}, annotations = {} } = live.metadata ?? {};
  if (labels["app.kubernetes.io/managed-by"] === "Helm") {
    const release = annotations["meta.helm.sh/release-name"] ?? "<release>";
    throw new CommandError(
      `Cannot install: the Deployment "${managerName}" belongs to the Helm release "${release}"; use "helm upgrade ${release}" or "helm uninstall ${release}"`,
    );
  }
  const selector = live.spec?.selector?.matchLabels ?? {};
  if (selector["app"] !== managerName || Object.keys(selector).length !== 1) {
    throw new CommandError(
      `Cannot install: the Deployment "${managerName}" selects other labels, and a selector cannot be changed; delete the Deployment, its sandboxes keep running`,
    );
  }
  return {
    version: labels["app.kubernetes.io/part-of"] === "agent-sandbox" ? labels["app.kubernetes.io/version"] : undefined,
  };
}

function missing(error: unknown): undefined {
  if (isReason(error, "NotFound")) return undefined;
  throw error;
}

/** Throws if `installed` is newer than this program. */
export function checkVersion(installed: Installed | undefined): void {
  if (installed?.version === undefined || !isNewer(installed.version, version)) return;
  throw new CommandError(
    `Cannot install version ${version}: version ${installed.version} is installed, which is newer; use agent-sandbox ${installed.version}`,
  );
}

/** Compares the numbers of semantic versions. */
export function isNewer(first: string, second: string): boolean {
  const parts = (text: string): number[] => text.split(/[.+-]/, 3).map((part) => Number.parseInt(part, 10) || 0);
  const [a, b] = [parts(first), parts(second)];
  const at = [0, 1, 2].find((index) => a[index] !== b[index]);
  return at !== undefined && (a[at] ?? 0) > (b[at] ?? 0);
}

/** Throws if the user lacks a permission to write the objects. Names all that are missing. */
export async function checkPermissions({ client }: Connection, objects: readonly OperatorObject[]): Promise<void> {
  const wanted = new Map<string, object>();
  for (const object of [...objects, keysSecret(objects)]) {
    const { apiVersion, plural } = object.kind === "Secret" ? secretPlace : resourceOf(object);
    const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
    for (const verb of object.kind === "Secret" ? ["get", "create"] : ["get", "create", "patch"]) {
      const namespace = object.metadata.namespace;
      const attributes = { group, resource: plural, verb, ...(namespace && { namespace }) };
      wanted.set(JSON.stringify(attributes), attributes);
    }
  }
  const denied = await Promise.all(
    [...wanted.values()].map(async (resourceAttributes) => {
      const { status } = (await client.create(accessReviews, {
        spec: { resourceAttributes },
      } as KubeObject)) as AccessReview;
      const { group, resource, verb, namespace } = resourceAttributes as Record<string, string>;
      const where = namespace === undefined ? "" : ` in ${namespace}`;
      return status?.allowed === true ? [] : [`${verb} ${resource}${group ? `.${group}` : ""}${where}`];
    }),
  );
  const names = denied.flat();
  if (names.length === 0) return;
  throw new CommandError(
    `Cannot install: you may not ${names.slice(0, 6).join(", ")}${names.length > 6 ? ` and ${names.length - 6} more` : ""}; use the credentials of a cluster administrator`,
  );
}

interface AccessReview extends KubeObject {
  readonly status?: { readonly allowed?: boolean };
}

const accessReviews: Resource = {
  apiVersion: "authorization.k8s.io/v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
};
const secretPlace = { apiVersion: "v1", plural: "secrets" } as const;

function keysSecret(objects: readonly OperatorObject[]): { kind: string; metadata: { namespace?: string } } {
  const namespace = objects.find(({ kind }) => kind === "Deployment")?.metadata.namespace;
  return { kind: "Secret", metadata: namespace === undefined ? {} : { namespace } };
}

/** Lets the server validate every object without storing it: schemas, admission and the rule against granting more than one has. */
export async function checkObjects(
  { client }: Connection,
  objects: readonly OperatorObject[],
  hasHome: boolean,
): Promise<void> {
  for (const object of objects) {
    // The server refuses objects of a namespace that does not exist yet.
    if (object.metadata.namespace !== undefined && !hasHome) continue;
    try {
      await applyOne(client, object, { dryRun: true });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new CommandError(
        `Cannot install: the server refuses ${object.kind} "${object.metadata.name}": ${reason}; nothing was changed`,
        {
          cause: error,
        },
      );
    }
  }
}
