import { type SandboxClaim, sandboxClaims, sandboxes, sandboxWarmPools } from "@agent-sandbox/api";
import {
  environmentAnnotation,
  faceLabel,
  metadataAnnotation,
  templateAnnotation,
  timeoutAnnotation,
} from "../../cluster/compat-annotations.ts";
import { find, type Machine } from "../../cluster/machine.ts";
import { labelsOf } from "../../cluster/metadata.ts";
import { isName, newName } from "../../cluster/names.ts";
import { poolOfTemplate } from "../../cluster/pool-of-template.ts";
import { requireConnect } from "../../control/require-connect.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { invalidParameter, OpenSandboxError } from "../failure.ts";
import { type LifecycleCall, maxLifecycleBytes } from "./context.ts";
import { type CreateOptions, readCreateOptions } from "./create-options.ts";
import { imageSandbox } from "./image-sandbox.ts";
import { type ObjectParts, restore } from "./restore.ts";
import { sandboxJson } from "./sandbox-json.ts";
import { ensureVolumeClaims } from "./volume-claims.ts";

/** `POST /v1/sandboxes`. Answers at once; the client asks until the sandbox can be used. */
export async function create(call: LifecycleCall): Promise<void> {
  const options = readCreateOptions(await readJsonObject(call.request, maxLifecycleBytes));
  await requireConnect(call, "");
  const deadline = deadlineOf(call, options);
  const labels = { ...labelsOf(options.metadata), [faceLabel]: "opensandbox" };
  const annotations = {
    [metadataAnnotation]: JSON.stringify(options.metadata),
    ...(options.timeoutSeconds !== undefined && { [timeoutAnnotation]: String(options.timeoutSeconds) }),
  };
  const { client, namespace } = call.account;
  const name = newName();
  const { source } = options;
  let machine: Machine;
  if (source.kind === "image") {
    await ensureVolumeClaims(call.account, options.volumes.claims);
    const wanted = imageSandbox(options, { name, namespace, image: source.image, labels, annotations, deadline });
    machine = { namespace, name, claim: undefined, sandbox: await client.create(sandboxes, wanted) };
  } else if (source.kind === "snapshot") {
    machine = await restore(call.account, source.name, { name, labels, annotations, deadline });
  } else {
    const claim = await createClaim(call, options, { name, labels, annotations, deadline, source });
    machine = { namespace, name, claim, sandbox: undefined };
  }
  sendJson(call.response, 202, { ...sandboxJson(machine), entrypoint: options.entrypoint });
}

function deadlineOf({ context }: LifecycleCall, { timeoutSeconds }: CreateOptions): Date | undefined {
  return timeoutSeconds === undefined ? undefined : new Date(context.now() + timeoutSeconds * 1000);
}

/** A pool, or a template for which there is one. */
type PoolSource = Extract<CreateOptions["source"], { readonly kind: "template" | "pool" }>;

/** The template decides on the image, the entrypoint and the resources. */
async function createClaim(
  call: LifecycleCall,
  options: CreateOptions,
  parts: ObjectParts & { readonly source: PoolSource },
): Promise<SandboxClaim> {
  const { account, context } = call;
  const { client, namespace } = account;
  const { environment, volumes } = options;
  if (volumes.volumes.length > 0) throw invalidParameter("volumes need an image: a template has its own");
  const pool = await poolFor(call, parts.source);
  const hasEnvironment = Object.keys(environment).length > 0;
  const { name, labels, deadline, source } = parts;
  const annotations = {
    ...parts.annotations,
    ...(source.kind === "template" && { [templateAnnotation]: source.name }),
    ...(hasEnvironment && { [environmentAnnotation]: "true" }),
  };
  const claim = await client.create(sandboxClaims, {
    apiVersion: sandboxClaims.apiVersion as SandboxClaim["apiVersion"],
    kind: "SandboxClaim",
    metadata: { name, namespace, labels: { ...labels }, annotations },
    spec: {
      warmPoolRef: { name: pool },
      ...(deadline !== undefined && { lifecycle: { shutdownTime: deadline.toISOString(), shutdownPolicy: "Delete" } }),
    },
  });
  if (hasEnvironment) await context.environments.store(claim, environment);
  return claim;
}

async function poolFor({ account }: LifecycleCall, source: PoolSource): Promise<string> {
  const { client, namespace } = account;
  const { kind, name } = source;
  const shown = JSON.stringify(name.slice(0, 64));
  if (kind === "template") {
    const pool = await poolOfTemplate(account, name);
    if (pool === undefined)
      throw new OpenSandboxError(404, "KUBERNETES::TEMPLATE_NOT_FOUND", `Template ${shown} not found`);
    return pool;
  }
  const found = isName(name) ? await find(client, sandboxWarmPools, { namespace, name }) : undefined;
  if (found === undefined) throw new OpenSandboxError(404, "KUBERNETES::POOL_NOT_FOUND", `Pool ${shown} not found`);
  return name;
}
