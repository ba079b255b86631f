import type { Duplex } from "node:stream";
import type { Pod } from "@agent-sandbox/api";
import type { Client, ContainerPlace, PodPlace } from "@agent-sandbox/kube";
import type { Sources } from "../volume/sources.ts";
import type { Machine } from "./machine.ts";
import type { NodeRules } from "./observed.ts";
import type { Tasks } from "./tasks.ts";

/** News about a Pod, in the words `kubectl describe` shows. */
export interface PodNote {
  readonly type?: "Normal" | "Warning";
  readonly reason: string;
  readonly text: string;
  /** Tells news of the same reason apart. Default: the reason. */
  readonly action?: string;
  /** The container it is about. */
  readonly container?: string;
}

export type CommandResult = { readonly code: number; readonly output: string };

/** What the actions on a Pod work with. */
export interface Effects {
  readonly machine: Machine;
  /** What the Pod may ask for. */
  readonly rules: NodeRules;
  readonly client: Client;
  readonly hostAddress: string;
  readonly tasks: Tasks;
  readonly sources: Sources;
  readonly tell: (pod: Pod, note: PodNote) => void;
  /** Connects to a port of a Pod from its inside, as `port-forward` does. */
  readonly dial: (place: PodPlace, port: number) => Promise<Duplex>;
  /** Runs a command in a running container to its end; its output is cut. */
  readonly run: (place: ContainerPlace, command: readonly string[], signal: AbortSignal) => Promise<CommandResult>;
}
