import { badRequest } from "../api-error.ts";
import { type ApiObject, isJsonObject, valueAt } from "../api-object.ts";
import type { ObjectTarget } from "../request/target.ts";
import type { ScalePaths } from "../resources/definition.ts";
import { applyWith } from "./apply.ts";
import type { ApiContext } from "./context.ts";
import { modify } from "./modify.ts";
import type { PatchRequest } from "./patch.ts";
import { getScale, replicasOf, setAt } from "./scale.ts";
import type { WriteOptions } from "./write-options.ts";

const scaleVersion = "autoscaling/v1";

/**
 * Server-side apply of a Scale: applies the one field that a Scale exposes to the object, and records the manager for the
 * subresource `scale`.
 */
export async function applyScale(
  context: ApiContext,
  target: ObjectTarget,
  { body, force }: PatchRequest,
  options: WriteOptions,
): Promise<ApiObject> {
  const config = configurationOf(target, body);
  const whole = { ...target, subresource: undefined };
  const apply = { config, force, manager: options.manager, shownVersion: scaleVersion };
  const wanted = applyWith(context, { ...target, subresource: "scale" }, apply);
  const { object } = await modify(context, whole, {
    ...options,
    needsRevision: false,
    hasManagedFields: true,
    wanted,
  });
  return getScale(target, object);
}

function configurationOf({ definition, version, namespace, name }: ObjectTarget, body: unknown): ApiObject {
  if (!isJsonObject(body) || body["kind"] !== "Scale" || body["apiVersion"] !== scaleVersion) {
    throw badRequest(`the configuration to apply must be a Scale of "${scaleVersion}"`);
  }
  const given = valueAt(body, "metadata", "name") ?? name;
  if (given !== name) {
    throw badRequest(
      `the name of the object (${JSON.stringify(given)}) does not match the name on the URL ("${name}")`,
    );
  }
  const uid = valueAt(body, "metadata", "uid");
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(typeof uid === "string" ? { uid } : {}),
  };
  const bare: ApiObject = { apiVersion: version.apiVersion, kind: definition.kind, metadata };
  if (valueAt(body, "spec", "replicas") === undefined) return bare;
  return setAt(bare, (version.scale as ScalePaths).specReplicasPath, replicasOf(body)) as ApiObject;
}
