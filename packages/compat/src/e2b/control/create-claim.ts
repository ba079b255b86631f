import { type SandboxClaim, sandboxClaims } from "@agent-sandbox/api";
import {
  environmentAnnotation,
  faceLabel,
  idempotencyLabel,
  metadataAnnotation,
  requestHashAnnotation,
  templateAnnotation,
} from "../../cluster/compat-annotations.ts";
import { lifetimeAnnotations } from "../../cluster/lifetime.ts";
import { labelsOf } from "../../cluster/metadata.ts";
import { newName } from "../../cluster/names.ts";
import { poolOfTemplate } from "../../cluster/pool-of-template.ts";
import { badRequest, notFound } from "../../http/http-error.ts";
import type { ControlCall } from "./context.ts";
import type { CreateOptions } from "./create-options.ts";
import type { RequestKey } from "./idempotency.ts";
import { snapshotSource } from "./snapshot-source.ts";
import { deadlineAfter } from "./timeouts.ts";

/** Creates the claim of a request. With a key it has a fixed name, so a second attempt is rejected with AlreadyExists. */
export async function createClaim(
  { context, account }: ControlCall,
  options: CreateOptions,
  key?: RequestKey,
): Promise<SandboxClaim> {
  const { client, namespace } = account;
  const { template, metadata, environment, lifetime } = options;
  const [name = "", ...tag] = template.split(":");
  const source = await snapshotSource(account, template);
  const wanted = options.isOffline ? `${name}-offline` : (source?.template ?? name);
  const pool = await poolOfTemplate(account, wanted);
  if (pool === undefined && options.isOffline) {
    throw badRequest(`allow_internet_access=false needs a SandboxTemplate "${wanted}" with a networkPolicy`);
  }
  if (pool === undefined) throw notFound(`template '${template}' not found`);
  const annotations = {
    [metadataAnnotation]: JSON.stringify(metadata),
    [templateAnnotation]: tag.length > 0 ? name : template,
    ...(Object.keys(environment).length > 0 && { [environmentAnnotation]: "true" }),
    ...(key !== undefined && { [requestHashAnnotation]: key.request }),
    ...lifetimeAnnotations(lifetime),
  };
  const labels = {
    ...labelsOf(metadata),
    [faceLabel]: "e2b",
    ...(key !== undefined && { [idempotencyLabel]: key.key }),
  };
  return client.create(sandboxClaims, {
    apiVersion: sandboxClaims.apiVersion as SandboxClaim["apiVersion"],
    kind: "SandboxClaim",
    metadata: { name: key?.claim ?? newName(), namespace, labels, annotations },
    spec: {
      warmPoolRef: { name: pool },
      // Also with autoPause, so that a sandbox whose name no client received ends.
      lifecycle: {
        shutdownTime: deadlineAfter(context, options.timeoutSeconds).toISOString(),
        shutdownPolicy: "Delete",
      },
      ...(source !== undefined && { restoreFrom: { snapshotRef: { name: source.snapshot } } }),
    },
  });
}
