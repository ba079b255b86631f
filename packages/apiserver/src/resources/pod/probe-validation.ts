import type { FieldError } from "../../api-error.ts";
import { isJsonObject, type JsonObject } from "../../api-object.ts";
import { forbidden, invalidValue, required } from "../field-problems.ts";
import { notNegative, oneOf, portOrNameProblems, portProblems, requiredText } from "../field-rules.ts";

const times = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];

/** `onceIsEnough`: the success threshold must be 1, as for liveness and startup probes. */
export function probeProblems(probe: unknown, path: string, onceIsEnough: boolean): FieldError[] {
  if (!isJsonObject(probe)) return [];
  const grace = probe["terminationGracePeriodSeconds"];
  const threshold = probe["successThreshold"];
  return [
    ...handlerProblems(probe, path),
    ...times.flatMap((name) => notNegative(probe, name, path)),
    ...(typeof grace === "number" && grace <= 0
      ? [invalidValue(`${path}.terminationGracePeriodSeconds`, grace, "must be greater than 0")]
      : []),
    ...(onceIsEnough && threshold !== 1 ? [invalidValue(`${path}.successThreshold`, threshold, "must be 1")] : []),
  ];
}

const handlers = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] as const;

/** A probe or a hook has exactly one handler. */
export function handlerProblems(owner: JsonObject, path: string): FieldError[] {
  const named = handlers.filter((name) => owner[name] !== undefined);
  const [first, ...others] = named;
  if (first === undefined) return [required(path, "must specify a handler type")];
  const action = owner[first];
  return [
    ...others.map((name) => forbidden(`${path}.${name}`, "may not specify more than 1 handler type")),
    ...(isJsonObject(action) ? actionProblems(first, action, `${path}.${first}`) : []),
  ];
}

function actionProblems(name: (typeof handlers)[number], action: JsonObject, path: string): FieldError[] {
  switch (name) {
    case "exec": {
      const { command } = action;
      return Array.isArray(command) && command.length > 0 ? [] : [required(`${path}.command`)];
    }
    case "httpGet":
      return [
        ...requiredText(action, "path", path),
        ...portOrNameProblems(`${path}.port`, action["port"]),
        ...oneOf(action, "scheme", path, ["HTTP", "HTTPS"]),
      ];
    case "tcpSocket":
      return portOrNameProblems(`${path}.port`, action["port"]);
    case "grpc":
      return portProblems(`${path}.port`, action["port"]);
    case "sleep":
      return notNegative(action, "seconds", path);
    default:
      return name satisfies never;
  }
}
