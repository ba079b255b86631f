import type { KubeObject } from "@agent-sandbox/kube";

/** Answers whose event has not come yet; far more than are ever under way at once. */
const mostRemembered = 10_000;

/**
 * Tells the events that a controller's own writes cause from all others: a pass that just wrote an object need not look at
 * it again. Right only for writes that carry the version decided on, since such an answer holds no stranger's change. A
 * write that is forgotten, or whose event comes before its answer, costs one pass that finds nothing to do.
 */
export class OwnWrites {
  readonly #versions = new Set<string>();

  remember<T extends KubeObject>(answer: T): T {
    this.#versions.add(versionOf(answer));
    if (this.#versions.size > mostRemembered) {
      for (const oldest of this.#versions) {
        this.#versions.delete(oldest);
        break;
      }
    }
    return answer;
  }

  /** Whether this is what an own write left, told once. */
  takes(object: KubeObject | undefined): boolean {
    return object !== undefined && this.#versions.delete(versionOf(object));
  }
}

function versionOf({ metadata }: KubeObject): string {
  return `${metadata?.uid} ${metadata?.resourceVersion}`;
}
