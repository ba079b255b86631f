import { compareQuantities, parseQuantity } from "@agent-sandbox/api";
import type { FieldError } from "../../api-error.ts";
import { isJsonObject, type JsonObject, objectsAt, stringAt, valueAt } from "../../api-object.ts";
import { duplicate, forbidden, invalidValue, notFound, required } from "../field-problems.ts";
import { labelField, oneOf, portProblems, requiredText } from "../field-rules.ts";
import { portNameProblems, qualifiedNameProblems } from "../names.ts";
import { descendingProblems } from "./payload-validation.ts";
import { securityProblems } from "./placement-validation.ts";
import { handlerProblems, probeProblems } from "./probe-validation.ts";

const protocols = ["SCTP", "TCP", "UDP"];

/** The rules of a container that a schema cannot express. `volumes` are the names of the Pod's volumes. */
export function containerProblems(container: JsonObject, path: string, volumes: ReadonlySet<string>): FieldError[] {
  return [
    ...labelField(container, "name", path),
    ...imageProblems(container["image"], `${path}.image`),
    ...oneOf(container, "terminationMessagePolicy", path, ["File", "FallbackToLogsOnError"]),
    ...portListProblems(container, `${path}.ports`),
    ...environmentProblems(container, `${path}.env`),
    ...mountProblems(container, `${path}.volumeMounts`, volumes),
    ...oneOf(container, "imagePullPolicy", path, ["Always", "IfNotPresent", "Never"]),
    ...resourceProblems(container["resources"], `${path}.resources`),
    ...securityProblems(container["securityContext"], `${path}.securityContext`),
    ...lifecycleProblems(container["lifecycle"], `${path}.lifecycle`),
    ...["livenessProbe", "readinessProbe", "startupProbe"].flatMap((name) =>
      probeProblems(container[name], `${path}.${name}`, name !== "readinessProbe"),
    ),
  ];
}

function imageProblems(image: unknown, field: string): FieldError[] {
  if (typeof image !== "string" || image === "") return [required(field)];
  return image.trim() === image ? [] : [invalidValue(field, image, "must not have leading or trailing whitespace")];
}

function portListProblems(container: JsonObject, path: string): FieldError[] {
  const names = new Set<unknown>();
  return objectsAt(container, "ports").flatMap((port, at) => {
    const where = `${path}[${at}]`;
    const { name = "", containerPort, hostPort = 0 } = port;
    const problems = name === "" ? [] : portNameProblems(String(name));
    const repeated = name !== "" && problems.length === 0 && names.has(name);
    names.add(name);
    return [
      ...problems.map((problem) => invalidValue(`${where}.name`, name, problem)),
      ...(repeated ? [duplicate(`${where}.name`, name)] : []),
      ...(containerPort === 0
        ? [required(`${where}.containerPort`)]
        : portProblems(`${where}.containerPort`, containerPort)),
      ...(hostPort === 0 ? [] : portProblems(`${where}.hostPort`, hostPort)),
      ...oneOf(port, "protocol", where, protocols),
    ];
  });
}

const sources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];

function environmentProblems(container: JsonObject, path: string): FieldError[] {
  return objectsAt(container, "env").flatMap((variable, at) => {
    const where = `${path}[${at}]`;
    return [...variableNameProblems(variable["name"], `${where}.name`), ...sourceProblems(variable, where)];
  });
}

function variableNameProblems(name: unknown, field: string): FieldError[] {
  if (typeof name !== "string" || name === "") return [required(field)];
  if (/^[ -<>-~]+$/.test(name)) return [];
  const rule = "a valid environment variable name must consist only of printable ASCII characters other than '='";
  return [invalidValue(field, name, rule)];
}

function sourceProblems({ value = "", valueFrom }: JsonObject, path: string): FieldError[] {
  if (!isJsonObject(valueFrom)) return [];
  const field = `${path}.valueFrom`;
  const named = sources.filter((source) => valueFrom[source] !== undefined);
  if (named.length === 0) {
    const choices = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    return [invalidValue(field, "", `must specify one of: ${choices}`)];
  }
  if (value !== "") return [invalidValue(field, "", "may not be specified when `value` is not empty")];
  if (named.length > 1) return [invalidValue(field, "", "may not have more than one field specified at a time")];
  return ["configMapKeyRef", "secretKeyRef"].flatMap((source) => {
    const reference = valueFrom[source];
    if (!isJsonObject(reference)) return [];
    return ["name", "key"].flatMap((key) => requiredText(reference, key, `${field}.${source}`));
  });
}

function mountProblems(container: JsonObject, path: string, volumes: ReadonlySet<string>): FieldError[] {
  const places = new Set<unknown>();
  return objectsAt(container, "volumeMounts").flatMap((mount, at) => {
    const where = `${path}[${at}]`;
    const { name = "", mountPath = "" } = mount;
    const repeated = places.has(mountPath);
    places.add(mountPath);
    return [
      ...requiredText(mount, "name", where),
      ...(volumes.has(String(name)) ? [] : [notFound(`${where}.name`, name)]),
      ...requiredText(mount, "mountPath", where),
      ...(repeated ? [invalidValue(`${where}.mountPath`, mountPath, "must be unique")] : []),
      ...descendingProblems(mount["subPath"], `${path}.subPath`),
      ...subPathExprProblems(mount, `${path}.subPathExpr`),
    ];
  });
}

function subPathExprProblems({ subPath = "", subPathExpr = "" }: JsonObject, field: string): FieldError[] {
  const isTwice = subPath !== "" && subPathExpr !== "";
  return [
    ...(isTwice ? [invalidValue(field, subPathExpr, "subPathExpr and subPath are mutually exclusive")] : []),
    ...descendingProblems(subPathExpr, field),
  ];
}

export function resourceProblems(resources: unknown, path: string): FieldError[] {
  const limits = valueAt(resources, "limits");
  const requests = valueAt(resources, "requests");
  return [
    ...amountProblems(limits, `${path}.limits`),
    ...amountProblems(requests, `${path}.requests`),
    ...Object.entries(isJsonObject(requests) ? requests : {}).flatMap(([name, amount]) => {
      const limit = stringAt(limits, name);
      if (limit === undefined || compareQuantities(String(amount), limit) !== 1) return [];
      const why = `must be less than or equal to ${name} limit of ${limit}`;
      return [invalidValue(`${path}.requests`, amount, why)];
    }),
  ];
}

const standardResource = /^(cpu|memory|ephemeral-storage|hugepages-.+)$/;

function amountProblems(amounts: unknown, path: string): FieldError[] {
  return Object.entries(isJsonObject(amounts) ? amounts : {}).flatMap(([name, amount]) => {
    const quantity = parseQuantity(String(amount));
    const field = `${path}[${name}]`;
    const negative = !("error" in quantity) && quantity.nanos < 0n;
    const unknown =
      standardResource.test(name) || name.includes("/")
        ? qualifiedNameProblems(name)
        : ["must be a standard resource type or fully qualified", "must be a standard resource for containers"];
    return [
      ...unknown.map((problem) => invalidValue(field, name, problem)),
      ...(negative ? [invalidValue(field, amount, "must be greater than or equal to 0")] : []),
    ];
  });
}

function lifecycleProblems(lifecycle: unknown, path: string): FieldError[] {
  return ["postStart", "preStop"].flatMap((name) => {
    const handler = valueAt(lifecycle, name);
    return isJsonObject(handler) ? handlerProblems(handler, `${path}.${name}`) : [];
  });
}

/** Two containers of a Pod cannot use the same host port. */
export function hostPortProblems(containers: readonly JsonObject[], path: string): FieldError[] {
  const taken = new Set<string>();
  return containers.flatMap((container, at) =>
    objectsAt(container, "ports").flatMap(({ hostPort = 0, protocol, hostIP = "" }, portAt) => {
      const key = `${String(protocol)}/${String(hostIP)}/${String(hostPort)}`;
      if (hostPort === 0) return [];
      if (taken.has(key)) return [duplicate(`${path}[${at}].ports[${portAt}].hostPort`, key)];
      taken.add(key);
      return [];
    }),
  );
}

export const restartRuleProblems = (container: JsonObject, path: string): FieldError[] =>
  container["restartPolicy"] === undefined
    ? []
    : oneOf(container, "restartPolicy", path, ["Always", "OnFailure", "Never"]);

/** Init containers end before the others start, so they cannot have probes or lifecycle hooks. */
export function initContainerProblems(container: JsonObject, path: string): FieldError[] {
  if (container["restartPolicy"] === "Always") return [];
  return ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"].flatMap((name) =>
    container[name] === undefined
      ? []
      : [forbidden(`${path}.${name}`, "may not be set for init containers without restartPolicy=Always")],
  );
}
