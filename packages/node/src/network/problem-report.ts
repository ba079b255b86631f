import type { EventRecorder, KubeObject, Resource } from "@agent-sandbox/kube";

/** Something about an object that its author must know. */
export interface Problem {
  readonly resource: Resource;
  readonly object: KubeObject;
  readonly text: string;
}

/** The most problems of one pass that are reported; the rest would be more than anybody reads. */
const mostProblems = 100;

/** Reports each problem once, as an event of its object, and again after it was gone for a while. */
export class ProblemReport {
  readonly #events: Pick<EventRecorder, "record">;
  #known: ReadonlySet<string> = new Set();

  constructor(events: Pick<EventRecorder, "record">) {
    this.#events = events;
  }

  /** `problems`: all that there are now. */
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
