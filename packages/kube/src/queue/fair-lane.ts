import { parseKey } from "../resource.ts";
import { type Link, LinkedList } from "./linked-list.ts";

interface Group {
  readonly namespace: string;
  readonly keys: LinkedList<string>;
  turn: Link<Group>;
}

/** The position of a key in a lane, needed to remove it. */
export interface Place {
  readonly group: Group;
  readonly link: Link<string>;
}

/** Ready keys of one priority. Namespaces take turns, so that one with thousands of keys does not delay another. */
export class FairLane {
  readonly #groups = new Map<string, Group>();
  readonly #turns = new LinkedList<Group>();

  push(key: string): Place {
    const namespace = parseKey(key).namespace ?? "";
    const group = this.#groups.get(namespace) ?? this.#open(namespace);
    return { group, link: group.keys.push(key) };
  }

  /** The next key of a namespace that `isFull` does not exclude. */
  shift(isFull: (namespace: string) => boolean = () => false): string | undefined {
    let turn = this.#turns.first;
    while (turn !== undefined && isFull(turn.value.namespace)) turn = turn.after;
    if (turn === undefined) return undefined;
    this.#turns.remove(turn);
    const group = turn.value;
    const key = group.keys.shift();
    if (group.keys.first === undefined) this.#groups.delete(group.namespace);
    else group.turn = this.#turns.push(group);
    return key;
  }

  remove({ group, link }: Place): void {
    group.keys.remove(link);
    if (group.keys.first !== undefined) return;
    this.#turns.remove(group.turn);
    this.#groups.delete(group.namespace);
  }

  #open(namespace: string): Group {
    const keys = new LinkedList<string>();
    const group = { namespace, keys } as Group;
    group.turn = this.#turns.push(group);
    this.#groups.set(namespace, group);
    return group;
  }
}
