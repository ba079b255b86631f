import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { KubeObject, Resource } from "@agent-sandbox/kube";
import { inject } from "vitest";
import type { Address } from "../data-plane/ask.ts";
import { BoxOnMachine } from "./box-on-machine.ts";
import { enterNetworkOf } from "./enter-network.ts";
import { Machine } from "./machine.ts";
import { type Runtime, Tenant, type TenantAccount } from "./tenant.ts";
import { until } from "./until.ts";
import { Victim, type VictimRecord } from "./victim.ts";

/** Describes the running world to the test files. */
export interface WorldRecord {
  readonly folder: string;
  readonly machinePid: number;
  readonly runtimes: readonly Runtime[];
  readonly victim: VictimRecord;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The path of a JSON file with a `WorldRecord` or an `error`. It exists once the world has started or failed. */
    readonly securityWorld: string;
  }
}

const accounts: Resource = { apiVersion: "v1", kind: "ServiceAccount", plural: "serviceaccounts", namespaced: true };
const namespaces: Resource = { apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false };
const bindings: Resource<KubeObject & { roleRef: object; subjects: object[] }> = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  plural: "rolebindings",
  namespaced: true,
};
type TokenRequest = KubeObject & { readonly spec: object; readonly status?: { readonly token: string } };

/**
 * One real box on a machine of the suite, with a permanent victim. All test files share it: attack with new tenants, never as
 * `alice`, and remove expensive objects after the test.
 */
export class World implements AsyncDisposable {
  readonly machine: Machine;
  readonly box: BoxOnMachine;
  /** The runtimes that tenants may use here, gVisor first. */
  readonly runtimes: readonly Runtime[];
  readonly alice: Victim;
  /** The administrator, for preparing a test, never for an attack. */
  readonly admin: Tenant;

  constructor({ folder, machinePid, runtimes, victim }: WorldRecord) {
    this.machine = new Machine(machinePid, folder);
    this.box = new BoxOnMachine(this.machine, folder);
    this.runtimes = runtimes;
    this.alice = new Victim(victim);
    this.admin = administrator(this.box);
  }

  get router(): Address {
    return { host: "127.0.0.1", port: this.box.routerPort };
  }

  /** Creates a tenant with its own namespace, named `<name>-<random>`. */
  async tenant(name = "mallory"): Promise<Tenant> {
    return new Tenant(await makeTenant(this.admin, `${name}-${randomBytes(3).toString("hex")}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.alice[Symbol.asyncDispose](), this.admin[Symbol.asyncDispose]()]);
  }
}

/**
 * Returns the suite's world and moves this test file into the network of the machine under attack: all later sockets and programs
 * belong to it. Call it once, in `beforeAll`.
 */
export async function enterWorld(): Promise<World> {
  const file = inject("securityWorld");
  const record = await until(() => readRecord(file));
  if ("error" in record) throw new Error(record.error);
  enterNetworkOf(record.machinePid);
  return new World(record);
}

function readRecord(file: string): WorldRecord | { readonly error: string } | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as WorldRecord;
  } catch {
    return undefined;
  }
}

export function administrator(box: BoxOnMachine): Tenant {
  return new Tenant({ ...box.access(), namespace: "default", router: { host: "127.0.0.1", port: box.routerPort } });
}

/** The namespace of all tenants' accounts, in which no tenant can delete them. */
const accountsNamespace = "tenants";

/** Creates a namespace, and a service account with the role `edit` in it. */
export async function makeTenant(admin: Tenant, name: string): Promise<TenantAccount> {
  const { client, account } = admin;
  await client.create(namespaces, { metadata: { name: accountsNamespace } }).catch(unlessExists);
  await client.create(namespaces, { metadata: { name } });
  await client.create(accounts, { metadata: { name, namespace: accountsNamespace } });
  await client.create(bindings, {
    metadata: { name, namespace: name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "ServiceAccount", name, namespace: accountsNamespace }],
  });
  return { ...account, namespace: name, token: await tokenOf(admin, accountsNamespace, name) };
}

function unlessExists(error: unknown): void {
  if ((error as { reason?: string }).reason !== "AlreadyExists") throw error;
}

/** A token of a service account, requested with the permissions of `by`. */
export async function tokenOf(by: Tenant, namespace: string, name: string, spec: object = {}): Promise<string> {
  const request: TokenRequest = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: { name, namespace },
    spec,
  };
  const resource: Resource<TokenRequest> = { ...accounts, shape: request };
  const { status } = await by.client.create(resource, request, { subresource: "token" });
  return status?.token ?? "";
}
