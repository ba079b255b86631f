import type { FieldError } from "../../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, objectsAt } from "../../api-object.ts";
import { equalJson } from "../../json.ts";
import type { ObjectPart } from "../definition.ts";
import { duplicate, forbidden, notFound } from "../field-problems.ts";
import { containerProblems } from "./container-validation.ts";
import { setContainerDefaults } from "./pod-defaults.ts";

const list = "ephemeralContainers";

/** Fields of containers that ephemeral containers cannot have. */
const forbiddenFields = [
  "ports",
  "resources",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
];
const why = "cannot be set for an Ephemeral Container";

/** `pods/{name}/ephemeralcontainers`: adds containers to a running Pod. They cannot change after that. */
export const ephemeralContainersPart: ObjectPart = {
  path: ["spec", list],
  merge: (given, current) => {
    const spec = isJsonObject(current["spec"]) ? current["spec"] : {};
    const wanted = isJsonObject(given["spec"]) ? given["spec"][list] : undefined;
    const { [list]: _current, ...rest } = spec;
    return { ...current, spec: wanted === undefined || wanted === null ? rest : { ...rest, [list]: wanted } };
  },
  setDefaults: (pod) => {
    const spec = isJsonObject(pod["spec"]) ? pod["spec"] : {};
    const containers = objectsAt(spec, list).map((container) => setContainerDefaults(container, spec));
    return containers.length === 0 ? pod : { ...pod, spec: { ...spec, [list]: containers } };
  },
  validate: (pod, old) => [...problemsOf(pod["spec"]), ...changeProblems(pod, old)],
};

function problemsOf(spec: unknown): FieldError[] {
  const volumes = new Set(objectsAt(spec, "volumes").map(({ name }) => String(name)));
  const others = [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")].map(({ name }) => name);
  const names = new Set<unknown>(others);
  return objectsAt(spec, list).flatMap((container, at) => {
    const path = `spec.${list}[${at}]`;
    const { name, targetContainerName: target = "" } = container;
    const repeated = names.has(name);
    names.add(name);
    return [
      ...containerProblems(container, path, volumes),
      ...(repeated ? [duplicate(`${path}.name`, name)] : []),
      ...(target === "" || others.includes(target) ? [] : [notFound(`${path}.targetContainerName`, target)]),
      ...forbiddenFields.flatMap((key) => (isSet(container[key]) ? [forbidden(`${path}.${key}`, why)] : [])),
      ...mountProblems(container, `${path}.volumeMounts`),
    ];
  });
}

/** Whether Go decodes the value as something other than the zero value of its type. */
function isSet(value: unknown): boolean {
  return value !== undefined && !(isJsonObject(value) && Object.keys(value).length === 0);
}

function mountProblems(container: JsonObject, path: string): FieldError[] {
  return objectsAt(container, "volumeMounts").flatMap((mount, at) =>
    ["subPath", "subPathExpr"].flatMap((key) =>
      (mount[key] ?? "") === "" ? [] : [forbidden(`${path}[${at}].${key}`, why)],
    ),
  );
}

function changeProblems(pod: ApiObject, old: ApiObject): FieldError[] {
  const now = new Map(objectsAt(pod, "spec", list).map((container) => [container["name"], container]));
  const field = `spec.${list}`;
  return objectsAt(old, "spec", list).flatMap((before) => {
    const quoted = JSON.stringify(before["name"]);
    const after = now.get(before["name"]);
    if (after === undefined) return [forbidden(field, `existing ephemeral containers ${quoted} may not be removed\n`)];
    if (equalJson(before, after)) return [];
    return [forbidden(field, `existing ephemeral containers ${quoted} may not be changed\n`)];
  });
}
