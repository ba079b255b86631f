export { createNode, type EmbeddedNode, type NodeOptions, removeNode } from "./create-node.ts";
export { examineMachine, type Finding } from "./doctor/examine.ts";
export { NodeError, type NodeReason } from "./errors.ts";
export type { StoredImage } from "./image/image-index.ts";
export type { ImageAdmin, ListedImage, Removed } from "./image/image-store.ts";
export { type MachineOptions, openNodeImages } from "./machine-setup.ts";
export type { ResourceDefaults } from "./oci/resources.ts";
export type { RuntimeRegistration } from "./runtime/oci-runtime.ts";
export { checkSettings, type NodeSettings, readSettings, settingsPath } from "./settings.ts";
