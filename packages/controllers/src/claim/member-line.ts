import type { FreeMember } from "./free-members.ts";

/**
 * Free members of one pool at one nearness, in order of arrival. The next one is the oldest on the node with the most members, so
 * that claims use the fullest node first. Members without a node come last.
 */
export class MemberLine {
  readonly #byNode = new Map<string, Map<string, Entry>>();
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

  /** The next member that is acceptable. Each member is checked at most once, and later ones only if earlier ones are refused. */
  first(accepts: (member: FreeMember) => boolean): FreeMember | undefined {
    const heads = new Set(Array.from(this.#byNode, headOf));
    for (let best = foremost(heads); best !== undefined; best = foremost(heads)) {
      if (accepts(best.entry.member)) return best.entry.member;
      const { value } = best.rest.next();
      if (value === undefined) heads.delete(best);
      else best.entry = value;
    }
    return undefined;
  }
}

interface Entry {
  readonly member: FreeMember;
  readonly order: number;
}

/** The next member of a node, and the iterator over the following ones. */
interface Head {
  readonly count: number;
  readonly rest: Iterator<Entry, undefined>;
  entry: Entry;
}

function headOf([node, members]: [string, ReadonlyMap<string, Entry>]): Head {
  const rest = members.values();
  // Never empty: `remove` deletes the entry of a node without members.
  return { count: node === "" ? 0 : members.size, rest, entry: rest.next().value as Entry };
}

function foremost(heads: Iterable<Head>): Head | undefined {
  let best: Head | undefined;
  for (const head of heads) {
    const isBetter =
      head.count === best?.count ? head.entry.order < best.entry.order : head.count > (best?.count ?? -1);
    if (isBetter) best = head;
  }
  return best;
}
