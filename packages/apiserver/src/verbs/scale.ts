import { badRequest } from "../api-error.ts";
import { type ApiObject, isJsonObject, valueAt } from "../api-object.ts";
import type { ObjectTarget } from "../request/target.ts";
import type { ScalePaths } from "../resources/definition.ts";
import type { ApiContext } from "./context.ts";
import { modify } from "./modify.ts";
import { type PatchRequest, patcher } from "./patch.ts";
import type { WriteOptions } from "./write-options.ts";

/** The `autoscaling/v1` Scale of an object, which autoscalers and `kubectl scale` use for all kinds with replicas. */
export function getScale({ version }: ObjectTarget, object: ApiObject): ApiObject {
  const paths = version.scale as ScalePaths;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = paths.labelSelectorPath === undefined ? undefined : at(object, paths.labelSelectorPath);
  return {
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp } as ApiObject["metadata"],
    spec: { replicas: at(object, paths.specReplicasPath) ?? 0 },
    status: {
      replicas: at(object, paths.statusReplicasPath) ?? 0,
      ...(typeof selector === "string" ? { selector } : {}),
    },
  };
}

export async function updateScale(
  context: ApiContext,
  target: ObjectTarget,
  body: unknown,
  options: WriteOptions,
): Promise<ApiObject> {
  return writeScale(context, target, { ...options, scale: () => body });
}

export async function patchScale(
  context: ApiContext,
  target: ObjectTarget,
  request: PatchRequest,
  options: WriteOptions,
): Promise<ApiObject> {
  const apply = patcher(target, request);
  return writeScale(context, target, { ...options, scale: (current) => apply(getScale(target, current)) });
}

interface ScaleWrite extends WriteOptions {
  readonly scale: (current: ApiObject) => unknown;
}

async function writeScale(
  context: ApiContext,
  target: ObjectTarget,
  { scale, ...options }: ScaleWrite,
): Promise<ApiObject> {
  const { object } = await modify(
    context,
    { ...target, subresource: undefined },
    {
      ...options,
      needsRevision: false,
      recordedFor: "scale",
      wanted: (current) => {
        const wanted = scale(current);
        if (!isJsonObject(wanted)) throw badRequest("the body of the request must be a Scale");
        return scaled(target, current, wanted);
      },
    },
  );
  return getScale(target, object);
}

function scaled(target: ObjectTarget, current: ApiObject, scale: object): ApiObject {
  const path = (target.version.scale as ScalePaths).specReplicasPath;
  const { uid, resourceVersion } = (valueAt(scale, "metadata") ?? {}) as { uid?: string; resourceVersion?: string };
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  const { uid: _uid, resourceVersion: _version, ...metadata } = current.metadata;
  const next = setAt(current, path, replicasOf(scale)) as ApiObject;
  return { ...next, metadata: { ...metadata, ...preconditions } };
}

/** The replicas that a Scale asks for. The schema of the kind checks the range. */
export function replicasOf(scale: object): number {
  const replicas = valueAt(scale, "spec", "replicas") ?? 0;
  if (Number.isInteger(replicas)) return replicas as number;
  throw badRequest(`Scale in version "v1" cannot be handled as a Scale: spec.replicas must be a whole number`);
}

const keysOf = (path: string): string[] => path.split(".").filter((key) => key !== "");

const at = (object: ApiObject, path: string): unknown => valueAt(object, ...keysOf(path));

/** A copy of the value with `leaf` at a path such as `.spec.replicas`. */
export function setAt(value: unknown, path: string, leaf: unknown): unknown {
  return setIn(value, keysOf(path), leaf);
}

function setIn(value: unknown, [key, ...rest]: readonly string[], leaf: unknown): unknown {
  if (key === undefined) return leaf;
  const owner = isJsonObject(value) ? value : {};
  return { ...owner, [key]: setIn(owner[key], rest, leaf) };
}
