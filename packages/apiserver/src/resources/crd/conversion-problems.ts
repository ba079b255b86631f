import type { FieldError } from "../../api-error.ts";
import { isJsonObject, type JsonObject, stringAt, valueAt } from "../../api-object.ts";
import { reviewVersions } from "../../conversion/conversion-review.ts";
import { forbidden, invalidValue, required } from "../field-problems.ts";
import { oneOf } from "../field-rules.ts";
import { nameProblems, subdomainProblems } from "../names.ts";

/** The problems of a definition's conversion. kube-apiserver reports the field names of v1beta1. */
export function conversionProblems(spec: unknown): FieldError[] {
  const conversion = valueAt(spec, "conversion");
  if (!isJsonObject(conversion)) return [];
  const path = "spec.conversion";
  const { strategy = "None" } = conversion;
  const webhook = conversion["webhook"];
  const config = valueAt(webhook, "clientConfig");
  const versions = valueAt(webhook, "conversionReviewVersions");
  if (strategy === "Webhook") {
    return [...clientProblems(config, `${path}.webhookClientConfig`), ...versionProblems(versions, path)];
  }
  const unused = "should not be set when strategy is not set to Webhook";
  return [
    ...oneOf({ strategy }, "strategy", path, ["None", "Webhook"]),
    ...(config === undefined ? [] : [forbidden(`${path}.webhookClientConfig`, unused)]),
    ...(Array.isArray(versions) && versions.length > 0 ? [forbidden(`${path}.conversionReviewVersions`, unused)] : []),
  ];
}

function versionProblems(versions: unknown, path: string): FieldError[] {
  const field = `${path}.conversionReviewVersions`;
  if (!Array.isArray(versions) || versions.length === 0) return [required(field)];
  const names = versions.map(String);
  return [
    ...names.flatMap((name, at) =>
      names.indexOf(name) < at
        ? [invalidValue(`${field}[${at}]`, name, "duplicate version")]
        : nameProblems(name, "service").map((problem) => invalidValue(`${field}[${at}]`, name, problem)),
    ),
    ...(names.some((name) => reviewVersions.includes(name))
      ? []
      : [invalidValue(field, names, `must include at least one of ${reviewVersions.join(", ")}`)]),
  ];
}

function clientProblems(config: unknown, path: string): FieldError[] {
  if (!isJsonObject(config)) return [required(path, "required when strategy is set to Webhook")];
  const url = stringAt(config, "url");
  const { service } = config;
  if ((url === undefined) === !isJsonObject(service))
    return [required(path, "exactly one of url or service is required")];
  return [
    ...(url === undefined ? [] : urlProblems(url, `${path}.url`)),
    ...(isJsonObject(service) ? serviceProblems(service, `${path}.service`) : []),
  ];
}

const form = "; desired format: https://host[/path]";

function urlProblems(text: string, field: string): FieldError[] {
  if (!URL.canParse(text)) return [required(field, `url must be a valid URL: parse ${JSON.stringify(text)}${form}`)];
  const { protocol, host, username, password, hash, search } = new URL(text);
  const scheme = protocol.slice(0, -1);
  const user = password === "" ? username : `${username}:${password}`;
  const unwanted = (value: string, why: string): FieldError[] =>
    value === "" ? [] : [invalidValue(field, value, why)];
  return [
    ...(scheme === "https" ? [] : [invalidValue(field, scheme, `'https' is the only allowed URL scheme${form}`)]),
    ...(host === "" ? [invalidValue(field, "", `host must be specified${form}`)] : []),
    ...unwanted(user, "user information is not permitted in the URL"),
    ...unwanted(hash.slice(1), "fragments are not permitted in the URL"),
    ...unwanted(search.slice(1), "query parameters are not permitted in the URL"),
  ];
}

function serviceProblems(service: JsonObject, field: string): FieldError[] {
  const { port = 443 } = service;
  const isPort = typeof port === "number" && port >= 1 && port <= 65_535;
  return [
    // kube-apiserver reports `name` if the namespace is missing.
    ...((service["namespace"] ?? "") === "" ? [required(`${field}.name`)] : []),
    ...((service["name"] ?? "") === "" ? [required(`${field}.namespace`)] : []),
    ...(isPort
      ? []
      : [invalidValue(`${field}.port`, port, "port is not valid: must be between 1 and 65535, inclusive")]),
    ...pathProblems(stringAt(service, "path") ?? "", `${field}.path`),
  ];
}

function pathProblems(path: string, field: string): FieldError[] {
  if (path === "" || path === "/") return [];
  if (path === "//") return [invalidValue(field, path, "segment[0] may not be empty")];
  const steps = path.slice(1).replace(/\/$/, "").split("/");
  return [
    ...(path.startsWith("/") ? [] : [invalidValue(field, path, "must start with a '/'")]),
    ...steps.flatMap((step, at) =>
      step === ""
        ? [invalidValue(field, path, `segment[${at}] may not be empty`)]
        : subdomainProblems(step).map((problem) => invalidValue(field, path, `segment[${at}]: ${problem}`)),
    ),
  ];
}
