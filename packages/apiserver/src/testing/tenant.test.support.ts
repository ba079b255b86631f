import type { Method } from "@agent-sandbox/kube";
import type { Identity } from "../auth/identity.ts";
import type { Answer, TestApi } from "./test-api.test.support.ts";

const apiGroup = "rbac.authorization.k8s.io";

/** A user with one role in one namespace and no other permissions. */
export class Tenant {
  readonly identity: Identity;
  readonly namespace: string;
  readonly #api: TestApi;

  private constructor(api: TestApi, namespace: string, user: string) {
    this.#api = api;
    this.namespace = namespace;
    this.identity = { user, groups: ["system:authenticated"] };
  }

  /** Creates the namespace if it does not exist. */
  static async join(
    api: TestApi,
    namespace: string,
    { role = "edit", user = `${role}@${namespace}` }: { readonly role?: string; readonly user?: string } = {},
  ): Promise<Tenant> {
    await api.send("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    await api.create(`/apis/${apiGroup}/v1/namespaces/${namespace}/rolebindings`, {
      metadata: { generateName: "tenant-" },
      roleRef: { apiGroup, kind: "ClusterRole", name: role },
      subjects: [{ kind: "User", apiGroup, name: user }],
    });
    return new Tenant(api, namespace, user);
  }

  async send(method: Method, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const request = { method, path, headers, ...(body === undefined ? {} : { body }) };
    return this.#api.server.transportAs(this.identity).send(request);
  }

  core(plural: string, name?: string): string {
    return `/api/v1/namespaces/${this.namespace}/${plural}${name === undefined ? "" : `/${name}`}`;
  }

  sandboxes(name?: string): string {
    const collection = `/apis/agents.x-k8s.io/v1beta1/namespaces/${this.namespace}/sandboxes`;
    return name === undefined ? collection : `${collection}/${name}`;
  }

  extensions(plural: string, name?: string): string {
    const collection = `/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/${this.namespace}/${plural}`;
    return name === undefined ? collection : `${collection}/${name}`;
  }
}
