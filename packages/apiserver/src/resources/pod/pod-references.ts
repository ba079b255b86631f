import { forbidden } from "../../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, objectsAt, storeKey, stringAt } from "../../api-object.ts";
import type { AdmissionContext } from "../definition.ts";

const defaultAccount = "default";

type Find = AdmissionContext["find"];

/** The fields that a new Pod gets from its ServiceAccount and RuntimeClass. Throws if one of them does not exist. */
export function referenced(pod: ApiObject, spec: JsonObject, find: Find): JsonObject {
  return { ...fromAccount(pod, spec, find), ...fromRuntimeClass(pod, spec, find) };
}

function fromAccount(pod: ApiObject, spec: JsonObject, find: Find): JsonObject {
  const name = stringAt(spec, "serviceAccountName") || defaultAccount;
  const { namespace = "" } = pod.metadata;
  const account = find("serviceaccounts", storeKey(namespace, name));
  // The default account is created a moment after its namespace, so a Pod may be created before it.
  if (account === undefined && name !== defaultAccount) {
    const why = `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`;
    throw refused(pod, why);
  }
  const own = objectsAt(spec, "imagePullSecrets");
  const secrets = own.length > 0 ? own : objectsAt(account, "imagePullSecrets");
  return {
    serviceAccountName: name,
    serviceAccount: name,
    ...(secrets.length === 0 ? {} : { imagePullSecrets: secrets }),
  };
}

function fromRuntimeClass(pod: ApiObject, spec: JsonObject, find: Find): JsonObject {
  const name = stringAt(spec, "runtimeClassName") ?? "";
  if (name === "") {
    if (spec["overhead"] === undefined) return {};
    throw refused(pod, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
  }
  const runtimeClass = find("runtimeclasses", name);
  if (runtimeClass === undefined) throw refused(pod, `pod rejected: RuntimeClass "${name}" not found`);
  const { overhead, scheduling } = runtimeClass;
  const podFixed = isJsonObject(overhead) ? overhead["podFixed"] : undefined;
  return {
    ...(podFixed === undefined ? {} : { overhead: podFixed }),
    ...(isJsonObject(scheduling) ? placed(pod, spec, scheduling) : {}),
  };
}

/** Adds the node selector and tolerations of a RuntimeClass. */
function placed(pod: ApiObject, spec: JsonObject, scheduling: JsonObject): JsonObject {
  const own = isJsonObject(spec["nodeSelector"]) ? spec["nodeSelector"] : {};
  const wanted = isJsonObject(scheduling["nodeSelector"]) ? scheduling["nodeSelector"] : {};
  const torn = Object.keys(wanted).find((key) => Object.hasOwn(own, key) && own[key] !== wanted[key]);
  if (torn !== undefined) {
    const [theirs, ours] = [wanted[torn], own[torn]].map(String);
    const where = `nodeSelector[${torn}]`;
    throw refused(pod, `conflict: runtimeClass.scheduling.${where} = ${theirs}; pod.spec.${where} = ${ours}`);
  }
  const tolerations = [...objectsAt(spec, "tolerations"), ...objectsAt(scheduling, "tolerations")];
  return {
    ...(Object.keys(wanted).length === 0 ? {} : { nodeSelector: { ...own, ...wanted } }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
  };
}

function refused({ metadata: { name = "" } }: ApiObject, why: string): Error {
  return forbidden({ group: "", plural: "pods", name }, why);
}
