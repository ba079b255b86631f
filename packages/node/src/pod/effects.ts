import type { Duplex } from "node:stream";
import type { Pod } from "@agent-sandbox/api";
import type { Client, ContainerPlace, PodPlace } from "@agent-sandbox/kube";
import type { Sources } from "../volume/sources.ts";
import type { Machine } from "./machine.ts";
import type { NodeRules } from "./observed.ts";
import type { Tasks } from "./tasks.ts";

/** An event about a Pod, as `kubectl describe` shows it. */
export interface PodEvent {
  readonly type?: "Normal" | "Warning";
  readonly reason: string;
  readonly text: string;
  /** Distinguishes events with the same reason. Default: the reason. */
  readonly action?: string;
  /** The container that the event is about. */
  readonly container?: string;
}

export type CommandResult = { readonly code: number; readonly output: string };

/** The dependencies of the actions on a Pod. */
export interface Effects {
  readonly machine: Machine;
  /** The rules of the Pod's namespace. */
  readonly rules: NodeRules;
  readonly client: Client;
  readonly hostAddress: string;
  readonly tasks: Tasks;
  readonly sources: Sources;
  readonly recordEvent: (pod: Pod, event: PodEvent) => void;
  /** Ends the exec and attach sessions of a Pod. Their clients get the reason. */
  readonly endSessions: (uid: string, reason: string) => void;
  /** Connects to a port inside the Pod's network namespace, as `port-forward` does. */
  readonly dial: (place: PodPlace, port: number) => Promise<Duplex>;
  /** Runs a command in a running container until it ends. The output is truncated. */
  readonly run: (place: ContainerPlace, command: readonly string[], signal: AbortSignal) => Promise<CommandResult>;
}
