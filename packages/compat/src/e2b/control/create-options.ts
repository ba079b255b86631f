import { environmentProblem } from "../../cluster/environment.ts";
import type { Lifetime } from "../../cluster/lifetime.ts";
import { metadataProblem } from "../../cluster/metadata.ts";
import { flagField, listField, objectField, textField, textMapField } from "../../http/fields.ts";
import { badRequest } from "../../http/http-error.ts";
import type { JsonObject } from "../../http/read-body.ts";
import type { ControlContext } from "./context.ts";
import { timeoutField } from "./timeouts.ts";

export interface CreateOptions {
  readonly template: string;
  readonly timeoutSeconds: number;
  readonly lifetime: Lifetime;
  readonly keepMemory: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  /** Wants a template whose network policy allows no traffic to the internet. */
  readonly isOffline: boolean;
}

/** Reads the body of a create. What cannot be honoured is refused by name. */
export function readCreateOptions(
  context: ControlContext,
  body: JsonObject,
  defaults: { readonly timeoutSeconds: number },
): CreateOptions {
  const template = textField(body, "templateID") ?? "";
  if (template === "") throw badRequest("templateID is required");
  const timeoutSeconds = timeoutField(context, body, defaults.timeoutSeconds);
  if (timeoutSeconds <= 0) throw badRequest("timeout must be at least 1 second");
  const metadata = textMapField(body, "metadata");
  const environment = textMapField(body, "envVars");
  const problem = metadataProblem(metadata) ?? environmentProblem(environment);
  if (problem !== undefined) throw badRequest(problem);
  refuseExtensions(body);
  refuseNetwork(objectField(body, "network"));
  return {
    template,
    timeoutSeconds,
    ...pauseOptions(body),
    metadata,
    environment,
    isOffline: flagField(body, "allow_internet_access") === false,
  };
}

function pauseOptions(body: JsonObject): Pick<CreateOptions, "lifetime" | "keepMemory"> {
  const autoPause = flagField(body, "autoPause") ?? false;
  const keepMemory = flagField(body, "autoPauseMemory") ?? true;
  const autoResume = flagField(objectField(body, "autoResume") ?? {}, "enabled") ?? false;
  if (autoResume && !autoPause) throw badRequest("autoResume requires autoPause");
  if (!keepMemory && !autoPause) throw badRequest("autoPauseMemory requires autoPause");
  if (!keepMemory && autoResume) throw badRequest("autoPauseMemory cannot be false with autoResume");
  return { lifetime: { onTimeout: autoPause ? "pause" : "kill", autoResume }, keepMemory };
}

function refuseExtensions(body: JsonObject): void {
  if ((listField(body, "volumeMounts") ?? []).length > 0) throw badRequest("Volume mounts are not enabled.");
  if (Object.keys(objectField(body, "iam") ?? {}).length > 0) throw badRequest("iam is not supported by this server");
}

/** Allowed because that is how ports are here in any case. */
const harmless: ReadonlySet<string> = new Set(["allowPublicTraffic"]);

/** Restrictions that are not enforced must not be accepted. */
export function refuseNetwork(network: JsonObject | undefined): void {
  for (const [name, value] of Object.entries(network ?? {})) {
    const isEmpty = value === null || (Array.isArray(value) && value.length === 0);
    if (isEmpty || harmless.has(name)) continue;
    throw badRequest(
      `network.${name} is not supported by this server: use a SandboxTemplate with a networkPolicy instead`,
    );
  }
}
