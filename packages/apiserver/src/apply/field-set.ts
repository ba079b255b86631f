import { compareElements, type FieldPath, type PathElement } from "./path-element.ts";

/**
 * A set of fields of one object, as a tree. A field and the fields inside it are separate members: a set with `.spec` does
 * not necessarily contain `.spec.replicas`. No subtree is empty, so equal sets have equal trees.
 */
export interface FieldSet {
  readonly nodes: ReadonlyMap<string, FieldNode>;
}

export interface FieldNode {
  readonly element: PathElement;
  readonly member: boolean;
  readonly children: FieldSet;
}

export const noFields: FieldSet = { nodes: new Map() };

export function isEmptySet(set: FieldSet): boolean {
  return set.nodes.size === 0;
}

export function fieldSetOf(paths: Iterable<FieldPath>): FieldSet {
  const builder = new FieldSetBuilder();
  for (const path of paths) builder.add(path);
  return builder.build();
}

/** Collects paths in any order. Ignores the empty path, because nobody owns the object itself. */
export class FieldSetBuilder {
  readonly #nodes = new Map<string, { element: PathElement; member: boolean; children: FieldSetBuilder }>();

  add(path: FieldPath, from = 0): void {
    const element = path[from];
    if (element === undefined) return;
    let node = this.#nodes.get(element.id);
    if (node === undefined) {
      node = { element, member: false, children: new FieldSetBuilder() };
      this.#nodes.set(element.id, node);
    }
    if (from === path.length - 1) node.member = true;
    else node.children.add(path, from + 1);
  }

  build(): FieldSet {
    if (this.#nodes.size === 0) return noFields;
    const nodes = [...this.#nodes].map(([id, node]) => [id, { ...node, children: node.children.build() }] as const);
    return { nodes: new Map(nodes) };
  }
}

/** Builds a level from nodes, without empty ones. */
export function setOfNodes(nodes: Iterable<FieldNode>): FieldSet {
  const kept = new Map<string, FieldNode>();
  for (const node of nodes) {
    if (node.member || !isEmptySet(node.children)) kept.set(node.element.id, node);
  }
  return kept.size === 0 ? noFields : { nodes: kept };
}

export function union(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmptySet(left)) return right;
  if (isEmptySet(right)) return left;
  const nodes = new Map(left.nodes);
  for (const [id, node] of right.nodes) {
    const other = nodes.get(id);
    nodes.set(id, other === undefined ? node : joined(other, node));
  }
  return { nodes };
}

function joined(left: FieldNode, right: FieldNode): FieldNode {
  return {
    element: left.element,
    member: left.member || right.member,
    children: union(left.children, right.children),
  };
}

export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmptySet(right)) return noFields;
  const nodes: FieldNode[] = [];
  for (const [id, { element, member, children }] of left.nodes) {
    const other = right.nodes.get(id);
    if (other === undefined) continue;
    nodes.push({ element, member: member && other.member, children: intersection(children, other.children) });
  }
  return setOfNodes(nodes);
}

/** The members of `left` that are not members of `right`. Returns `left` itself if they have no member in common. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return mapShared(left, right, (node, other) => {
    const children = difference(node.children, other.children);
    const member = node.member && !other.member;
    return children === node.children && member === node.member ? node : { element: node.element, member, children };
  });
}

/** The members of `left` that are neither members of `right` nor inside one. Returns `left` itself if those are all. */
export function without(left: FieldSet, right: FieldSet): FieldSet {
  return mapShared(left, right, (node, other) => {
    if (other.member) return undefined;
    const children = without(node.children, other.children);
    return children === node.children ? node : { ...node, children };
  });
}

/** A level in which the nodes that another level also has are replaced, or removed if the replacement is `undefined`. */
function mapShared(
  left: FieldSet,
  right: FieldSet,
  change: (node: FieldNode, other: FieldNode) => FieldNode | undefined,
): FieldSet {
  if (isEmptySet(right)) return left;
  const nodes: FieldNode[] = [];
  let same = true;
  for (const [id, node] of left.nodes) {
    const other = right.nodes.get(id);
    const next = other === undefined ? node : change(node, other);
    if (next !== node) same = false;
    if (next !== undefined) nodes.push(next);
  }
  return same ? left : setOfNodes(nodes);
}

export function equalSets(left: FieldSet, right: FieldSet): boolean {
  if (left === right) return true;
  if (left.nodes.size !== right.nodes.size) return false;
  for (const [id, node] of left.nodes) {
    const other = right.nodes.get(id);
    if (other === undefined || other.member !== node.member || !equalSets(node.children, other.children)) return false;
  }
  return true;
}

export function hasField(set: FieldSet, path: FieldPath): boolean {
  let level = set;
  let member = false;
  for (const { id } of path) {
    const node = level.nodes.get(id);
    if (node === undefined) return false;
    member = node.member;
    level = node.children;
  }
  return member;
}

/** The members of the set inside one element. */
export function inside(set: FieldSet, { id }: PathElement): FieldSet {
  return set.nodes.get(id)?.children ?? noFields;
}

export function isMember(set: FieldSet, { id }: PathElement): boolean {
  return set.nodes.get(id)?.member === true;
}

export function sortedNodes(set: FieldSet): FieldNode[] {
  return [...set.nodes.values()].sort((left, right) => compareElements(left.element, right.element));
}

/** All members; those of one level come before the members inside them. */
export function* pathsOf(set: FieldSet, prefix: FieldPath = []): Generator<FieldPath> {
  const nodes = sortedNodes(set);
  for (const { element, member } of nodes) if (member) yield [...prefix, element];
  for (const { element, children } of nodes) yield* pathsOf(children, [...prefix, element]);
}
