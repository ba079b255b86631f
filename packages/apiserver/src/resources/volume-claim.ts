import { compareQuantities } from "@agent-sandbox/api";
import type { FieldError } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, stringAt, valueAt, withMetadata } from "../api-object.ts";
import { timestamp } from "../clock.ts";
import { equalJson } from "../json.ts";
import type { AdmissionContext, Strategy } from "./definition.ts";
import { forbidden, invalidValue, notSupported, required } from "./field-problems.ts";
import { optionalOneOf } from "./field-rules.ts";
import { subdomainProblems } from "./names.ts";

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

export const volumeClaimStrategy: Strategy = {
  prepareCreate: (claim, { list }) => ({
    ...withFinalizer(withStorageClass(claim, list), "kubernetes.io/pvc-protection"),
    status: { phase: "Pending" },
  }),
  validate: (claim, old) => {
    const spec = claim["spec"];
    if (!isJsonObject(spec)) return [required("spec")];
    return [...specProblems(spec), ...(old === undefined ? [] : changeProblems(claim, spec, old))];
  },
};

/** Like the admission plugin StorageObjectInUseProtection. A controller of the node removes it when the object is unused. */
function withFinalizer(object: ApiObject, finalizer: string): ApiObject {
  const { finalizers = [] } = object.metadata;
  return finalizers.includes(finalizer) ? object : withMetadata(object, { finalizers: [...finalizers, finalizer] });
}

/** The annotation for the class before Kubernetes 1.6, which is still valid. */
const olderClass = "volume.beta.kubernetes.io/storage-class";
const defaultMarks = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

/** A claim without `storageClassName` gets the newest default class. An empty `storageClassName` means no class. */
function withStorageClass(claim: ApiObject, list: AdmissionContext["list"]): ApiObject {
  const { spec } = claim;
  if (!isJsonObject(spec) || spec["storageClassName"] !== undefined) return claim;
  if (claim.metadata.annotations?.[olderClass] !== undefined) return claim;
  const marked = [...list("storageclasses")].filter(({ metadata: { annotations } }) =>
    defaultMarks.some((mark) => annotations?.[mark] === "true"),
  );
  const [newest] = marked.sort(byAge);
  return newest === undefined ? claim : { ...claim, spec: { ...spec, storageClassName: newest.metadata.name } };
}

function byAge({ metadata: a }: ApiObject, { metadata: b }: ApiObject): number {
  const [made, other] = [a, b].map(({ creationTimestamp }) => creationTimestamp ?? "");
  if (made !== other) return (made as string) > (other as string) ? -1 : 1;
  return (a.name ?? "") < (b.name ?? "") ? -1 : 1;
}

function specProblems(spec: JsonObject): FieldError[] {
  const storageClass = stringAt(spec, "storageClassName") ?? "";
  return [
    ...accessModeProblems(spec["accessModes"], "at least 1 access mode is required"),
    ...storageProblems(stringAt(spec, "resources", "requests", "storage")),
    ...(storageClass === ""
      ? []
      : subdomainProblems(storageClass).map((problem) => invalidValue("spec.storageClassName", storageClass, problem))),
    ...optionalOneOf(spec, "volumeMode", "spec", ["Block", "Filesystem"]),
  ];
}

function accessModeProblems(modes: unknown, missing: string): FieldError[] {
  const field = "spec.accessModes";
  if (!Array.isArray(modes) || modes.length === 0) return [required(field, missing)];
  const alone = modes.includes("ReadWriteOncePod") && modes.length > 1;
  return [
    ...modes.filter((mode) => !accessModes.includes(mode)).map((mode) => notSupported(field, mode, accessModes)),
    ...(alone ? [forbidden(field, "may not use ReadWriteOncePod with other access modes")] : []),
  ];
}

function storageProblems(storage: string | undefined): FieldError[] {
  const field = "spec.resources[storage]";
  if (storage === undefined) return [required(field)];
  return compareQuantities(storage, "0") === 1 ? [] : [invalidValue(field, storage, "must be greater than zero")];
}

/** The spec of a claim is immutable, except that a bound claim can grow. */
function changeProblems(claim: ApiObject, spec: JsonObject, old: ApiObject): FieldError[] {
  const bound = stringAt(claim, "status", "phase") === "Bound";
  const before = old["spec"];
  if (!isJsonObject(before) || equalJson(spec, before)) return [];
  const capacity = stringAt(old, "status", "capacity", "storage") ?? "0";
  const [size, oldSize] = [spec, before].map((each) => stringAt(each, "resources", "requests", "storage") ?? "0");
  const shrinks = compareQuantities(size as string, oldSize as string) === -1;
  const tooSmall = shrinks && compareQuantities(size as string, capacity) !== 1;
  return [
    ...(equalJson(fixedPart(spec, before, bound), fixedPart(before, before, bound))
      ? []
      : [
          forbidden(
            "spec",
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
          ),
        ]),
    ...(tooSmall ? [forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")] : []),
  ];
}

function fixedPart(spec: JsonObject, old: JsonObject, bound: boolean): unknown {
  const { volumeName, storageClassName, resources, volumeAttributesClassName, ...rest } = spec;
  const requests = isJsonObject(resources) && isJsonObject(resources["requests"]) ? resources["requests"] : {};
  return {
    ...rest,
    // A controller can set these fields later if the user omitted them.
    volumeName: (old["volumeName"] ?? "") === "" ? null : (volumeName ?? null),
    storageClassName: old["storageClassName"] === undefined ? null : (storageClassName ?? null),
    volumeAttributesClassName: bound ? null : (volumeAttributesClassName ?? null),
    resources: {
      ...(isJsonObject(resources) ? resources : {}),
      requests: bound ? { ...requests, storage: null } : requests,
    },
  };
}

export const persistentVolumeStrategy: Strategy = {
  prepareCreate: (volume, { nowMs }) => ({
    ...withFinalizer(volume, "kubernetes.io/pv-protection"),
    status: { phase: "Pending", lastPhaseTransitionTime: timestamp(nowMs) },
  }),
  prepareStatus: (volume, old, { nowMs }) => {
    const [status, before] = [volume["status"], old["status"]].map((each) => (isJsonObject(each) ? each : {}));
    const stays = status?.["phase"] === before?.["phase"];
    const time = status?.["lastPhaseTransitionTime"];
    if (stays || (time !== undefined && time !== before?.["lastPhaseTransitionTime"])) return volume;
    return { ...volume, status: { ...status, lastPhaseTransitionTime: timestamp(nowMs) } };
  },
  validate: (volume, old) => {
    const spec = volume["spec"];
    if (!isJsonObject(spec)) return [required("spec")];
    const capacity = valueAt(spec, "capacity", "storage");
    return [
      ...accessModeProblems(spec["accessModes"], ""),
      ...(capacity === undefined ? capacityProblems(spec["capacity"]) : []),
      ...optionalOneOf(spec, "persistentVolumeReclaimPolicy", "spec", ["Delete", "Recycle", "Retain"]),
      ...optionalOneOf(spec, "volumeMode", "spec", ["Block", "Filesystem"]),
      ...(old === undefined ? volumeSourceProblems(spec) : sourceChanges(spec, old["spec"])),
    ];
  },
};

/** A missing capacity breaks two rules, and kube-apiserver reports both. */
function capacityProblems(capacity: unknown): FieldError[] {
  return [
    ...(isJsonObject(capacity) ? [] : [required("spec.capacity")]),
    notSupported("spec.capacity", capacity ?? null, ["storage"]),
  ];
}

/** The fields of a PersistentVolume's spec that are not volume sources. */
const plainVolumeFields = new Set([
  "accessModes",
  "capacity",
  "claimRef",
  "mountOptions",
  "nodeAffinity",
  "persistentVolumeReclaimPolicy",
  "storageClassName",
  "volumeAttributesClassName",
  "volumeMode",
]);

const sourcesOf = (spec: JsonObject): string[] => Object.keys(spec).filter((key) => !plainVolumeFields.has(key));

function volumeSourceProblems(spec: JsonObject): FieldError[] {
  const [first, ...others] = sourcesOf(spec);
  if (first === undefined) return [required("spec", "must specify a volume type")];
  return others.map((source) => forbidden(`spec.${source}`, "may not specify more than 1 volume type"));
}

function sourceChanges(spec: JsonObject, old: unknown): FieldError[] {
  if (!isJsonObject(old)) return [];
  const names = new Set([...sourcesOf(spec), ...sourcesOf(old)]);
  const changed = [...names].some((name) => !equalJson(spec[name], old[name]));
  return changed
    ? [forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation")]
    : [];
}
