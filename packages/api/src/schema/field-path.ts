/** Paths have the format of Kubernetes. The empty path is the object itself. */
export function childPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

export function indexPath(path: string, index: number): string {
  return `${path}[${index}]`;
}

export function keyPath(path: string, key: string): string {
  return `${path}[${key}]`;
}
