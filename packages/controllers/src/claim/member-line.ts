import type { FreeMember } from "./free-members.ts";

/**
 * Free members of one pool at one nearness, in the order they came. The next one is the oldest on the node that has most of
 * them, so that claims empty the fullest node first; members without a node come after all others.
 */
export class MemberLine {
  readonly #byNode = new Map<string, Map<string, { readonly member: FreeMember; readonly order: number }>>();
  #size = 0;
  #order = 0;

  get size(): number {
    return this.#size;
  }

  add(member: FreeMember): void {
    const onNode = this.#byNode.get(member.node) ?? new Map<string, never>();
    this.#byNode.set(member.node, onNode);
    if (!onNode.has(member.key)) this.#size += 1;
    this.#order += 1;
    const order = onNode.get(member.key)?.order ?? this.#order;
    onNode.set(member.key, { member, order });
  }

  remove({ key, node }: Pick<FreeMember, "key" | "node">): void {
    const onNode = this.#byNode.get(node);
    if (onNode?.delete(key) !== true) return;
    this.#size -= 1;
    if (onNode.size === 0) this.#byNode.delete(node);
  }

  /** The first in line that is acceptable. Looks at one member of each node, and at more only when some are refused. */
  first(accepts: (member: FreeMember) => boolean): FreeMember | undefined {
    const refused = new Set<string>();
    for (;;) {
      const next = this.#best(refused);
      if (next === undefined || accepts(next)) return next;
      refused.add(next.key);
    }
  }

  #best(refused: ReadonlySet<string>): FreeMember | undefined {
    let best: { member: FreeMember; count: number; order: number } | undefined;
    for (const [node, members] of this.#byNode) {
      const oldest = firstOf(members, refused);
      if (oldest === undefined) continue;
      const count = node === "" ? 0 : members.size;
      if (best === undefined || count > best.count || (count === best.count && oldest.order < best.order)) {
        best = { member: oldest.member, count, order: oldest.order };
      }
    }
    return best?.member;
  }
}

function firstOf<T>(members: ReadonlyMap<string, T>, refused: ReadonlySet<string>): T | undefined {
  for (const [key, entry] of members) if (!refused.has(key)) return entry;
  return undefined;
}
