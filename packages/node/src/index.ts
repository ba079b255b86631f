export { createNode, type EmbeddedNode, type NodeOptions, removeNode } from "./create-node.ts";
export { NodeError, type NodeReason } from "./errors.ts";
export type { MachineOptions } from "./machine-setup.ts";
export type { ResourceDefaults } from "./oci/resources.ts";
export type { RuntimeRegistration } from "./runtime/oci-runtime.ts";
