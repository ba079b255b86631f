/** The commands for the current user, namespace and objects. */
import { useEffect, useMemo, useState } from "react";
import { useBackend } from "../data/backend.ts";
import {
  namespaces,
  nodes,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
  sandboxWarmPools,
} from "../data/resources.ts";
import { useCan, useList } from "../data/use-data.ts";
import { pages } from "../shell/navigation.tsx";
import { usePreferences } from "../shell/preferences.tsx";
import { useScope } from "../shell/scope.tsx";
import type { Command } from "./command.ts";
import { createCommands, objectCommands, type Rights } from "./commands.ts";
import { namespaceCommands, pageCommands, preferenceCommands } from "./settings-commands.ts";

const resources = [sandboxes, sandboxTemplates, sandboxWarmPools, sandboxClaims, sandboxSnapshots];
const verbs = ["create", "patch", "delete"] as const;
/** The rights in each namespace are one request. */
const mostNamespaces = 50;

export function useCommands(): Command[] {
  const { namespace, canAll, home } = useScope();
  const { theme, zone } = usePreferences();
  const canNodes = useCan("list", nodes);
  const canNamespaces = useCan("list", namespaces);
  const names = useList(canNamespaces ? namespaces : undefined).items;
  const boxes = useList(sandboxes, namespace).items;
  const templates = useList(sandboxTemplates, namespace).items;
  const pools = useList(sandboxWarmPools, namespace).items;
  const claims = useList(sandboxClaims, namespace).items;
  const snapshots = useList(sandboxSnapshots, namespace).items;
  const inUse = useMemo(() => {
    const all = [boxes, templates, pools, claims, snapshots].flat();
    return [...new Set([home, ...all.map(({ metadata }) => metadata.namespace ?? "")])].slice(0, mostNamespaces).sort();
  }, [home, boxes, templates, pools, claims, snapshots]);
  const may = useRights(inUse.join(" "));
  return useMemo(() => {
    const objects = { sandboxes: boxes, templates, pools, claims, snapshots };
    const known = names.map(({ metadata }) => metadata?.name ?? "").toSorted();
    return [
      ...pageCommands(pages.filter(({ href }) => href !== "/machine" || canNodes)),
      ...createCommands(may, home),
      ...objectCommands(objects, may),
      ...namespaceCommands(known, namespace, canAll),
      ...preferenceCommands({ theme, zone }),
    ];
  }, [boxes, templates, pools, claims, snapshots, names, namespace, canAll, canNodes, home, may, theme, zone]);
}

const none: Rights = () => false;

/** `among`: names of namespaces, separated by spaces. Until the server has answered, the user may do nothing. */
function useRights(among: string): Rights {
  const { access } = useBackend();
  const [rights, setRights] = useState<Rights>(() => none);
  useEffect(() => {
    let isCurrent = true;
    const ask = async (): Promise<void> => {
      const allowed = new Set<string>();
      const questions = among.split(" ").flatMap((namespace) =>
        resources.flatMap((resource) =>
          verbs.map(async (verb) => {
            if (await access.can(verb, resource, { namespace })) allowed.add(`${verb} ${resource.plural} ${namespace}`);
          }),
        ),
      );
      await Promise.all(questions);
      const answer: Rights = (verb, { plural }, namespace) => allowed.has(`${verb} ${plural} ${namespace}`);
      if (isCurrent) setRights(() => answer);
    };
    void ask();
    return () => {
      isCurrent = false;
    };
  }, [access, among]);
  return rights;
}
