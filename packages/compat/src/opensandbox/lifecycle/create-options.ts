import { type Environment, environmentProblem } from "../../cluster/environment.ts";
import { type Metadata, metadataProblem } from "../../cluster/metadata.ts";
import { flagField, integerField, listField, objectField, textField, textMapField } from "../../http/fields.ts";
import type { JsonObject } from "../../http/read-body.ts";
import { invalidParameter, notSupported } from "../failure.ts";
import { isQuantity } from "./quantity.ts";
import { readVolumes, type Volumes } from "./volumes.ts";

/** What a sandbox is made from. */
export type Source =
  | { readonly kind: "image"; readonly image: string }
  | { readonly kind: "template"; readonly name: string }
  | { readonly kind: "pool"; readonly name: string }
  | { readonly kind: "snapshot"; readonly name: string };

export interface CreateOptions {
  readonly source: Source;
  readonly entrypoint: readonly string[];
  /** Undefined: no limit. */
  readonly timeoutSeconds: number | undefined;
  readonly environment: Environment;
  readonly metadata: Metadata;
  readonly limits: Readonly<Record<string, string>>;
  readonly requests: Readonly<Record<string, string>>;
  readonly volumes: Volumes;
  readonly architecture: string | undefined;
}

const shortestSeconds = 60;
const usualEntrypoint: readonly string[] = ["tail", "-f", "/dev/null"];

/** Reads the body of a create. What cannot be honoured is refused by name. */
export function readCreateOptions(body: JsonObject): CreateOptions {
  refuseExtensions(body);
  const environment = textMapField(body, "env");
  const metadata = textMapField(body, "metadata");
  const problem = metadataProblem(metadata) ?? environmentProblem(environment, "env");
  if (problem !== undefined) throw invalidParameter(problem);
  const source = readSource(body);
  const entrypoint = readEntrypoint(body);
  if (source.kind === "snapshot") refuseChanges(body, entrypoint);
  return {
    source,
    entrypoint,
    timeoutSeconds: readTimeout(body),
    environment,
    metadata,
    limits: readAmounts(body, "resourceLimits"),
    requests: readAmounts(body, "resourceRequests"),
    volumes: readVolumes(listField(body, "volumes") ?? []),
    architecture: readArchitecture(objectField(body, "platform") ?? {}),
  };
}

function readSource(body: JsonObject): Source {
  const pool = textField(objectField(body, "extensions") ?? {}, "poolRef");
  const template = textField(body, "templateId");
  const image = objectField(body, "image");
  const snapshot = textField(body, "snapshotId");
  if (pool !== undefined) return { kind: "pool", name: pool };
  if ([template, image, snapshot].filter((one) => one !== undefined).length !== 1) {
    throw invalidParameter("Exactly one of image, templateId and snapshotId is required");
  }
  if (snapshot !== undefined) return { kind: "snapshot", name: snapshot };
  if (template !== undefined) return { kind: "template", name: template };
  const uri = textField(image ?? {}, "uri") ?? "";
  if (!/^[\x21-\x7e]{1,1000}$/.test(uri)) throw invalidParameter("image.uri must be the name of an image");
  const credentials = Object.values(objectField(image ?? {}, "auth") ?? {});
  if (credentials.some((value) => value !== null && value !== "")) {
    throw notSupported("image.auth (add imagePullSecrets to the default ServiceAccount instead)");
  }
  return { kind: "image", image: uri };
}

function readEntrypoint(body: JsonObject): readonly string[] {
  const words = listField(body, "entrypoint") ?? usualEntrypoint;
  if (!words.every((word) => typeof word === "string")) throw invalidParameter("entrypoint must be a list of strings");
  return words.length === 0 ? usualEntrypoint : words;
}

/** What clients send if the user does not say anything else. */
const usualLimits = JSON.stringify({ cpu: "1", memory: "2Gi" });

/** A sandbox continues from a snapshot as it was: with its processes, variables, volumes and resources. */
function refuseChanges(body: JsonObject, entrypoint: readonly string[]): void {
  const limits = textMapField(body, "resourceLimits");
  const wanted = Object.keys(limits).length > 0 && JSON.stringify(limits) !== usualLimits;
  const changes = {
    env: Object.keys(textMapField(body, "env")).length > 0,
    entrypoint: entrypoint.join(" ") !== usualEntrypoint.join(" "),
    volumes: (listField(body, "volumes") ?? []).length > 0,
    resourceLimits: wanted,
    resourceRequests: Object.keys(textMapField(body, "resourceRequests")).length > 0,
    platform: objectField(body, "platform") !== undefined,
  };
  for (const [name, isChanged] of Object.entries(changes)) {
    if (isChanged) throw notSupported(`${name} of a sandbox from a snapshot`);
  }
}

function readTimeout(body: JsonObject): number | undefined {
  const seconds = integerField(body, "timeout");
  if (seconds !== undefined && (seconds < shortestSeconds || seconds > 10 ** 9)) {
    throw invalidParameter(`timeout must be at least ${shortestSeconds} seconds`);
  }
  return seconds;
}

const resources: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"]);

function readAmounts(body: JsonObject, field: string): Readonly<Record<string, string>> {
  const amounts = textMapField(body, field);
  const unknown = Object.keys(amounts).find((name) => !resources.has(name));
  if (unknown !== undefined) throw notSupported(`${field}.${unknown.slice(0, 64)}`);
  for (const [name, amount] of Object.entries(amounts)) {
    if (!isQuantity(amount)) throw invalidParameter(`${field}.${name} must be a quantity such as 500m or 2Gi`);
  }
  return amounts;
}

function readArchitecture(platform: JsonObject): string | undefined {
  const os = textField(platform, "os") ?? "linux";
  if (os !== "linux") throw invalidParameter('platform.os must be "linux"');
  const architecture = textField(platform, "arch");
  if (architecture !== undefined && !/^[a-z0-9_]{1,63}$/.test(architecture)) {
    throw invalidParameter('platform.arch must be a name such as "amd64"');
  }
  return architecture;
}

/** Restrictions and features that are not enforced must not be accepted. */
function refuseExtensions(body: JsonObject): void {
  const policy = objectField(body, "networkPolicy");
  if (policy !== undefined) {
    const isOpen = policy["defaultAction"] === "allow" && (listField(policy, "egress") ?? []).length === 0;
    if (!isOpen) throw notSupported("networkPolicy (use a SandboxTemplate with a networkPolicy instead)");
  }
  if (flagField(objectField(body, "credentialProxy") ?? {}, "enabled") === true) throw notSupported("credentialProxy");
  const hooks = Object.values(objectField(body, "lifecycle") ?? {}).filter((hook) => hook !== null);
  if (hooks.length > 0) throw notSupported("lifecycle");
}
