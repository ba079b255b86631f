import type { CustomResourceDefinition } from "@agent-sandbox/api";
import { crds } from "@agent-sandbox/api/crds";
import { extensionsRbac, managerBase, managerDeployment, namespaceObject } from "./manager-objects.ts";
import type { OperatorObject } from "./manifest.ts";
import { routerObjects, routerRuntimeRbac } from "./router-objects.ts";
import type { OperatorSettings } from "./settings.ts";
import { extensionUserRoles, userRoles } from "./user-roles.ts";

/** Our CRDs: without the kinds of others, which only the box serves. */
export const ownCrds: readonly CustomResourceDefinition[] = crds.filter(({ spec }) =>
  spec.group.endsWith("agents.x-k8s.io"),
);

const isExtension = ({ spec }: CustomResourceDefinition): boolean => spec.group.startsWith("extensions.");

/** The Service of the webhook in the namespace of the installation; the manager adds the certificate. */
function crdFor(crd: CustomResourceDefinition, namespace: string): OperatorObject {
  const webhook = crd.spec.conversion?.webhook;
  const service = webhook?.clientConfig?.service;
  if (service === undefined) return crd as unknown as OperatorObject;
  const clientConfig = { ...webhook?.clientConfig, service: { ...service, namespace } };
  const conversion = { ...crd.spec.conversion, webhook: { ...webhook, clientConfig } };
  return { ...crd, spec: { ...crd.spec, conversion } } as unknown as OperatorObject;
}

export function coreCrds({ namespace }: OperatorSettings): OperatorObject[] {
  return ownCrds.filter((crd) => !isExtension(crd)).map((crd) => crdFor(crd, namespace));
}

export function extensionCrds({ namespace }: OperatorSettings): OperatorObject[] {
  return ownCrds.filter(isExtension).map((crd) => crdFor(crd, namespace));
}

/** The objects of `deploy/manifest.yaml` without the CRDs. */
export function coreObjects(settings: OperatorSettings): OperatorObject[] {
  return [
    namespaceObject(settings),
    ...managerBase(settings),
    ...userRoles(),
    managerDeployment({ ...settings, extensions: false }),
  ];
}

/** The objects of `deploy/extensions.yaml` without the CRDs. The Deployment replaces that of the core. */
export function extensionObjects(settings: OperatorSettings): OperatorObject[] {
  return [...extensionsRbac(settings), ...extensionUserRoles(), managerDeployment({ ...settings, extensions: true })];
}

/** The manager with everything it needs, each object once, without the CRDs. */
export function managerObjects(settings: OperatorSettings): OperatorObject[] {
  const rbac = settings.extensions ? [...extensionsRbac(settings), ...extensionUserRoles()] : [];
  return [namespaceObject(settings), ...managerBase(settings), ...userRoles(), ...rbac, managerDeployment(settings)];
}

export interface Parts {
  readonly router: boolean;
  /** Whether the router may read the tokens of injected runtimes. */
  readonly runtime: boolean;
}

/** All objects of an installation in the order in which they are applied: the CRDs first. */
export function installation(settings: OperatorSettings, { router, runtime }: Parts): OperatorObject[] {
  return [
    ...coreCrds(settings),
    ...(settings.extensions ? extensionCrds(settings) : []),
    ...managerObjects(settings),
    ...(router ? routerObjects(settings) : []),
    ...(router && runtime ? routerRuntimeRbac(settings) : []),
  ];
}
