import type { Pod } from "@agent-sandbox/api";
import { membersOf } from "../pod/members.ts";

/** A ConfigMap or Secret in the Pod's namespace that its spec names. */
export interface Reference {
  readonly kind: "ConfigMap" | "Secret";
  readonly name: string;
  /** Used in a volume, which is updated when the object changes. Environment variables are not. */
  readonly inVolume: boolean;
}

/** All references of a Pod, without duplicates. */
export function referencesOf(pod: Pod): readonly Reference[] {
  const found = [...volumeReferences(pod), ...environmentReferences(pod)];
  return [...new Map(found.toReversed().map((one) => [referenceKey(one), one])).values()].toReversed();
}

function referenceKey({ kind, name }: Reference): string {
  return `${kind}/${name}`;
}

function volumeReferences({ spec }: Pod): Reference[] {
  return (spec?.volumes ?? []).flatMap(({ configMap, secret, projected }) => [
    ...reference("ConfigMap", configMap?.name, true),
    ...reference("Secret", secret?.secretName, true),
    ...(projected?.sources ?? []).flatMap((one) => [
      ...reference("ConfigMap", one.configMap?.name, true),
      ...reference("Secret", one.secret?.name, true),
    ]),
  ]);
}

function environmentReferences(pod: Pod): Reference[] {
  return membersOf(pod).flatMap(({ container: { env = [], envFrom = [] } }) => [
    ...envFrom.flatMap(({ configMapRef, secretRef }) => [
      ...reference("ConfigMap", configMapRef?.name, false),
      ...reference("Secret", secretRef?.name, false),
    ]),
    ...env.flatMap(({ valueFrom }) => [
      ...reference("ConfigMap", valueFrom?.configMapKeyRef?.name, false),
      ...reference("Secret", valueFrom?.secretKeyRef?.name, false),
    ]),
  ]);
}

function reference(kind: Reference["kind"], name: string | undefined, inVolume: boolean): Reference[] {
  return name ? [{ kind, name, inVolume }] : [];
}
