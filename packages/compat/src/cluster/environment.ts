import { type SandboxClaim, type Secret, sandboxClaims } from "@agent-sandbox/api";
import { type Client, isReason, type Resource } from "@agent-sandbox/kube";
import { annotationOf, environmentAnnotation } from "./compat-annotations.ts";
import { find } from "./machine.ts";

export type Environment = Readonly<Record<string, string>>;

const secrets: Resource<Secret> = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };
const secretType = "compat.agents.x-k8s.io/environment";
const key = "environment.json";

/** Secrets may have a mebibyte. */
const maxBytes = 512 * 1024;
const maxKeptBytes = 32 * 1024 * 1024;

export function environmentProblem(environment: Environment, field = "envVars"): string | undefined {
  const wrong = Object.keys(environment).find((name) => name === "" || /[=\0]/.test(name));
  if (wrong !== undefined) return `${field} has the invalid name ${JSON.stringify(wrong.slice(0, 64))}`;
  const hasNul = Object.values(environment).some((value) => value.includes("\0"));
  if (hasNul) return `${field} has a value with a NUL character`;
  const bytes = Buffer.byteLength(JSON.stringify(environment));
  return bytes > maxBytes ? `${field} has ${bytes} bytes; the limit is ${maxBytes}` : undefined;
}

/**
 * The environment variables of a claim's processes, in a Secret that the claim owns. They are not in the claim, because that would
 * make it start a new Sandbox instead of taking one from the pool.
 */
export class Environments {
  readonly #client: Client;
  readonly #known = new Map<string, Environment>();
  #knownBytes = 0;

  /** The client needs `get` and `create` on Secrets. */
  constructor(client: Client) {
    this.#client = client;
  }

  async store(claim: SandboxClaim, environment: Environment): Promise<void> {
    const { name = "", namespace = "", uid = "" } = claim.metadata;
    const owner = { apiVersion: sandboxClaims.apiVersion, kind: sandboxClaims.kind, name, uid };
    const metadata = { name: secretName(claim), namespace, ownerReferences: [owner] };
    const data = { [key]: Buffer.from(JSON.stringify(environment)).toString("base64") };
    const object: Secret = { apiVersion: "v1", kind: "Secret", metadata, type: secretType, data };
    await this.#client.create(secrets, object).catch((error: unknown) => {
      // Created by an earlier attempt of the same request.
      if (!isReason(error, "AlreadyExists")) throw error;
    });
  }

  /** A Secret that the claim does not own is ignored. */
  async of(claim: SandboxClaim | undefined): Promise<Environment> {
    const { uid = "" } = claim?.metadata ?? {};
    if (claim === undefined || annotationOf(claim, environmentAnnotation) !== "true") return {};
    const known = this.#known.get(uid);
    if (known !== undefined) return known;
    const secret = await this.#read(claim);
    const isOwn = secret.type === secretType && secret.metadata?.ownerReferences?.some((owner) => owner.uid === uid);
    const text = isOwn === true ? Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8") : "{}";
    const environment = JSON.parse(text) as Environment;
    this.#keep(uid, environment, text.length);
    return environment;
  }

  async #read(claim: SandboxClaim): Promise<Secret> {
    const { name = "", namespace = "" } = claim.metadata;
    const current = await find(this.#client, secrets, { namespace, name: secretName(claim) });
    return current ?? this.#client.get(secrets, { namespace, name: olderSecretName(name) });
  }

  #keep(uid: string, environment: Environment, bytes: number): void {
    if (this.#knownBytes + bytes > maxKeptBytes) {
      this.#known.clear();
      this.#knownBytes = 0;
    }
    this.#known.set(uid, environment);
    // An empty one has a size too.
    this.#knownBytes += bytes + 1024;
  }
}

/** A claim that is created again for the same idempotency key has the same name, while the Secret of the first one may still exist. */
const secretName = ({ metadata: { name = "", uid = "" } }: SandboxClaim): string => `${name}-compat-${uid}`;

/** Claims that were created by earlier versions have a Secret of this name. */
const olderSecretName = (claim: string): string => `${claim}-compat`;
