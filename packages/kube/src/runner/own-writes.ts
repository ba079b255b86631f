import type { KubeObject } from "../resource.ts";

/** Bounds the writes whose watch event has not arrived; far more than a controller ever has in flight. */
const mostRemembered = 10_000;

/**
 * Recognises the watch events that a controller's own writes cause, so that they do not requeue the key that wrote them.
 * Only correct for writes with a resourceVersion precondition: their answer contains no change by anybody else. A write
 * that is forgotten, or whose event arrives before its answer, costs one pass that finds nothing to do.
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

  /** Whether the object is the answer to an own write. Each write is recognised once. */
  takes(object: KubeObject | undefined): boolean {
    return object !== undefined && this.#versions.delete(versionOf(object));
  }
}

function versionOf({ metadata }: KubeObject): string {
  return `${metadata?.uid} ${metadata?.resourceVersion}`;
}
