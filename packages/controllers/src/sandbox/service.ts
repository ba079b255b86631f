import {
  controllerReference,
  mergePatch,
  nameHash,
  type Sandbox,
  type Service,
  type ServicePort,
  sandboxes,
  sandboxNameHashLabel,
} from "@agent-sandbox/api";
import { type Action, targetOf } from "./action.ts";
import { adoptedReferences, type Standing, standingOf, strangerProblem } from "./adoption.ts";
import { serviceTwinProblem } from "./name-twin.ts";
import { isTerminating, type Observed } from "./observed.ts";
import { samePorts, servicePorts } from "./service-ports.ts";

export interface ServiceFinding {
  readonly actions: readonly Action[];
  readonly problem?: string;
  /** Whether the Sandbox needs the Service to be Ready. */
  readonly isRequired: boolean;
  readonly exists: boolean;
}

/** The headless Service of a Sandbox: true creates it, false deletes it, absent keeps an existing one. */
export function serviceStep(observed: Observed): ServiceFinding {
  const { sandbox, service } = observed;
  const { service: wish } = sandbox.spec;
  const isRequired = wish === true;
  if (service === undefined) {
    return isRequired ? { ...create(observed), isRequired, exists: false } : { actions: [], isRequired, exists: false };
  }
  const standing = standingOf(sandbox, service);
  if (wish === false) return { actions: removal(service, standing), isRequired, exists: false };
  if (standing === "owned") return { actions: repair(sandbox, service), isRequired: true, exists: true };
  if (standing === "foreign") return refused(service, isRequired);
  if (!isRequired) return { actions: [], isRequired, exists: false };
  return standing === "adoptable" ? { ...adopt(observed, service), isRequired, exists: false } : refused(service, true);
}

function refused(service: Service, isRequired: boolean): ServiceFinding {
  return { actions: [], problem: strangerProblem("Service", service), isRequired, exists: false };
}

// A DNS-1035 label, as the names of Services are.
const serviceName = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;

function create(observed: Observed): Pick<ServiceFinding, "actions" | "problem"> {
  const { sandbox } = observed;
  const { name = "", namespace = "" } = sandbox.metadata;
  const shared = serviceTwinProblem(observed);
  if (shared !== undefined) return { actions: [], problem: shared };
  if (!serviceName.test(name)) {
    const rule = "at most 63 of a-z, 0-9 and -, beginning with a letter";
    return { actions: [], problem: `Cannot make Service "${name}": the name of a Service has ${rule}` };
  }
  const ports = servicePorts(sandbox.spec.podTemplate.spec);
  const object: Service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, labels: hashOf(sandbox), ownerReferences: [controllerReference(sandboxes, sandbox)] },
    spec: { clusterIP: "None", selector: hashOf(sandbox), ...(ports.length > 0 && { ports }) },
  };
  return { actions: [{ do: "create", child: "service", object }] };
}

function removal(service: Service, standing: Standing): Action[] {
  if (standing !== "owned" || isTerminating(service)) return [];
  return [{ do: "delete", child: "service", target: targetOf(service, { locked: true }) }];
}

function repair(sandbox: Sandbox, service: Service): Action[] {
  return change(sandbox, service, { followPorts: sandbox.spec.service === true });
}

function adopt(observed: Observed, service: Service): Pick<ServiceFinding, "actions" | "problem"> {
  const { sandbox } = observed;
  const problem = headlessProblem(service) ?? serviceTwinProblem(observed);
  if (problem !== undefined) return { actions: [], problem };
  return { actions: change(sandbox, service, { followPorts: true, metadata: adoptedReferences(sandbox, service) }) };
}

/** Why a Service cannot become the headless one of a Sandbox, or undefined. */
export function headlessProblem({ metadata, spec }: Service): string | undefined {
  const { clusterIP } = spec ?? {};
  if (!clusterIP || clusterIP === "None") return undefined;
  return `Cannot adopt Service "${metadata?.name}": its clusterIP is ${clusterIP}, not None, and that field is immutable`;
}

/** Patches the label and selector, and the ports if `followPorts` is set, where they differ. */
function change(
  sandbox: Sandbox,
  service: Service,
  { followPorts, metadata = {} }: { followPorts: boolean; metadata?: object },
): Action[] {
  const { labels = {} } = service.metadata ?? {};
  const { selector = {}, ports = [] } = service.spec ?? {};
  const relabelled = mergePatch(labels, { ...labels, ...hashOf(sandbox) });
  const reselected = mergePatch(selector, hashOf(sandbox));
  const wanted = followPorts ? servicePorts(sandbox.spec.podTemplate.spec) : ports;
  const meta = { ...metadata, ...(relabelled && { labels: relabelled }) };
  const spec = {
    ...(reselected && { selector: reselected }),
    ...(!samePorts(ports, wanted) && { ports: orNone(wanted) }),
  };
  const body = {
    ...(Object.keys(meta).length > 0 && { metadata: meta }),
    ...(Object.keys(spec).length > 0 && { spec }),
  };
  if (Object.keys(body).length === 0) return [];
  return [{ do: "patch", child: "service", target: targetOf(service, { locked: true }), body }];
}

function orNone(ports: readonly ServicePort[]): readonly ServicePort[] | null {
  return ports.length > 0 ? ports : null;
}

function hashOf({ metadata }: Sandbox): Record<string, string> {
  return { [sandboxNameHashLabel]: nameHash(metadata.name ?? "") };
}
