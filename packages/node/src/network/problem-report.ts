import type { EventRecorder, KubeObject, Resource } from "@agent-sandbox/kube";

/** A problem of an object that is reported to its author. */
export interface Problem {
  readonly resource: Resource;
  readonly object: KubeObject;
  readonly text: string;
}

/** The number of problems that one pass reports. Nobody reads more. */
const mostProblems = 100;

/** Records an event for each new problem, and again if a problem returns after it was solved. */
export class ProblemReport {
  readonly #events: Pick<EventRecorder, "record">;
  #known: ReadonlySet<string> = new Set();

  constructor(events: Pick<EventRecorder, "record">) {
    this.#events = events;
  }

  /** `problems` are all current problems. */
  report(problems: readonly Problem[]): void {
    const now = new Map(problems.slice(0, mostProblems).map((problem) => [keyOf(problem), problem]));
    for (const [key, { resource, object, text }] of now) {
      if (this.#known.has(key)) continue;
      this.#events.record(resource, object, { type: "Warning", reason: "NotEnforced", action: "Enforce", text });
    }
    this.#known = new Set(now.keys());
  }
}

const keyOf = ({ object, text }: Problem): string => `${object.metadata?.uid} ${text}`;
