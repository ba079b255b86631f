import type { Settings } from "../caller.ts";
import { HttpRefusal } from "./http-refusal.ts";

/** What the address of the server chooses: `/mcp?namespace=team-a&template=python`. */
export interface ConnectionSettings extends Pick<Settings, "source" | "autoSandbox"> {
  readonly namespace: string;
  readonly workspace?: string;
}

export interface Defaults {
  readonly namespace: string;
  readonly source: Settings["source"];
}

const name = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const forms: Readonly<Record<string, RegExp>> = {
  namespace: name,
  template: name,
  // As in the tool create_sandbox.
  image: /^\S{1,512}$/,
  workspace: /^[\x20-\x7e]{1,128}$/,
  auto_sandbox: /^(?:true|false)$/,
};

/** Reads the query. A parameter that is unknown, repeated or not valid is refused: it would be a mistake that nobody notices. */
export function readSettings(query: URLSearchParams, defaults: Defaults): ConnectionSettings {
  const given: Record<string, string> = {};
  for (const [key, value] of query) {
    const form = Object.hasOwn(forms, key) ? forms[key] : undefined;
    if (form === undefined) {
      throw new HttpRefusal(400, `The address has an unknown parameter: it can have ${Object.keys(forms).join(", ")}`);
    }
    if (Object.hasOwn(given, key)) throw new HttpRefusal(400, `The address has the parameter ${key} twice`);
    if (!form.test(value)) throw new HttpRefusal(400, `The parameter ${key} of the address is not valid`);
    given[key] = value;
  }
  const { namespace = defaults.namespace, template, image, workspace } = given;
  if (template !== undefined && image !== undefined) {
    throw new HttpRefusal(400, "The address names a template and an image: it can have one of them");
  }
  const source = template !== undefined ? { template } : image !== undefined ? { image } : defaults.source;
  const autoSandbox = given["auto_sandbox"] === "true";
  return { namespace, source, autoSandbox, ...(workspace !== undefined && { workspace }) };
}
