import { coreGroup, extensionsGroup } from "@agent-sandbox/api";
import { CommandError } from "../command-error.ts";
import type { Manifest } from "./manifests.ts";

/** A manifest in the form of the API. */
export interface ConvertedManifest {
  readonly manifest: Manifest;
  /** What was changed, as in `spec.size became spec.replicas`. Empty if the manifest was in the form of the API. */
  readonly changes: readonly string[];
  /** The template that a SandboxClaim names. In v1beta1 a claim names a pool, which must be found or created. */
  readonly template?: string;
}

type Fields = Readonly<Record<string, unknown>>;

const wanted = `${extensionsGroup}/v1beta1`;
const converted: readonly string[] = [`${coreGroup}/v1alpha1`, `${extensionsGroup}/v1alpha1`, wanted];

/**
 * Converts the short forms of SandboxTemplate, SandboxClaim and SandboxWarmPool that articles about Agent Sandbox use. Everything else
 * is left to the server, which refuses unknown fields.
 */
export function convertShortForm(manifest: Manifest): ConvertedManifest {
  const { apiVersion, kind } = manifest;
  const convert = Object.hasOwn(conversions, kind) ? conversions[kind] : undefined;
  const { spec } = manifest as { readonly spec?: unknown };
  if (convert === undefined || !converted.includes(apiVersion)) return { manifest, changes: [] };
  const draft = new Draft(manifest, isFields(spec) ? spec : {});
  const isMisplaced = apiVersion === `${coreGroup}/v1alpha1`;
  if (isMisplaced) draft.changes.push(`${apiVersion} became ${wanted}`);
  const template = convert(draft, isMisplaced);
  if (draft.changes.length === 0) return { manifest, changes: [] };
  const whole = { ...manifest, apiVersion: wanted, ...(isFields(spec) && { spec: draft.spec }) };
  return { manifest: whole, changes: draft.changes, ...(template !== undefined && { template }) };
}

/** Names the pool of a claim that named a template. */
export function withPool(manifest: Manifest, pool: string): Manifest {
  const { spec } = manifest as { readonly spec?: Fields };
  return { ...manifest, spec: { ...spec, warmPoolRef: { name: pool } } } as Manifest;
}

const conversions: Readonly<Record<string, (draft: Draft, isMisplaced: boolean) => string | undefined>> = {
  SandboxTemplate(draft) {
    const { template } = draft.spec;
    if (isFields(template) && "spec" in template) draft.rename("template", "podTemplate", template);
    return undefined;
  },
  SandboxWarmPool(draft) {
    const { template, size } = draft.spec;
    if (typeof size === "number") draft.rename("size", "replicas", size);
    if (typeof template === "string") draft.rename("template", "sandboxTemplateRef", { name: template });
    return undefined;
  },
  SandboxClaim(draft, isMisplaced) {
    const { template, sandboxTemplateRef } = draft.spec;
    const name = typeof template === "string" ? template : isMisplaced ? nameIn(sandboxTemplateRef) : undefined;
    if (name === undefined) return undefined;
    draft.rename(typeof template === "string" ? "template" : "sandboxTemplateRef", "warmPoolRef", { name });
    return name;
  },
};

class Draft {
  readonly changes: string[] = [];
  readonly #manifest: Manifest;
  #spec: Fields;

  constructor(manifest: Manifest, spec: Fields) {
    this.#manifest = manifest;
    this.#spec = spec;
  }

  get spec(): Fields {
    return this.#spec;
  }

  rename(from: string, to: string, value: unknown): void {
    const { [from]: _old, ...others } = this.#spec;
    if (Object.hasOwn(others, to)) {
      const { kind, metadata } = this.#manifest;
      throw new CommandError(
        `Cannot read ${kind} "${metadata.name}": it has spec.${from} and spec.${to}; keep spec.${to}`,
      );
    }
    this.#spec = { ...others, [to]: value };
    this.changes.push(`spec.${from} became spec.${to}`);
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function nameIn(reference: unknown): string | undefined {
  return isFields(reference) && typeof reference["name"] === "string" ? reference["name"] : undefined;
}
