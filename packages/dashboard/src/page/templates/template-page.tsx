/** One template: what it describes, its pools, and the sandboxes made from it. */
import { type Sandbox, type SandboxTemplate, sandboxTemplateRefAnnotation } from "@agent-sandbox/api";
import { FileBox } from "lucide-react";
import { useMemo } from "react";
import { DeleteButton } from "../components/delete-button.tsx";
import { Facts } from "../components/facts.tsx";
import { ObjectLink } from "../components/object-link.tsx";
import { ObjectPage } from "../components/object-page.tsx";
import { PoolBar } from "../components/pool-bar.tsx";
import { Section } from "../components/section.tsx";
import { Text } from "../components/text.tsx";
import { NewPoolButton, StartFromTemplateButton } from "../create/create-buttons.tsx";
import { YamlPreview } from "../create/yaml-preview.tsx";
import { keyOf, sandboxes, sandboxTemplates, sandboxWarmPools } from "../data/resources.ts";
import { useList, useObject } from "../data/use-data.ts";
import { ObjectEvents } from "../events/object-events.tsx";
import { imageIn, limitsIn, sleepIn } from "../model/blueprint.ts";
import { isShadow, poolState } from "../model/pool-state.ts";
import { SandboxTable } from "../sandboxes/sandbox-table.tsx";

interface PageProps {
  readonly namespace: string;
  readonly name: string;
}

export default function TemplatePage({ namespace, name }: PageProps) {
  const found = useObject(sandboxTemplates, { namespace, name });
  return (
    <ObjectPage
      noun="template"
      icon={FileBox}
      list={{ href: "/templates", title: "Templates" }}
      namespace={namespace}
      name={name}
      found={found}
      actions={(template) => (
        <>
          <DeleteButton resource={sandboxTemplates} object={template} noun="template" next="/templates">
            Sandboxes that were made from it continue. Its warm pools cannot start further members.
          </DeleteButton>
          <StartFromTemplateButton template={template} variant="primary" />
        </>
      )}
    >
      {(template) => <Content template={template} />}
    </ObjectPage>
  );
}

function Content({ template }: { readonly template: SandboxTemplate }) {
  const { spec, metadata } = template;
  const env = spec.podTemplate?.spec?.containers?.[0]?.env?.map(({ name }) => name).join(", ");
  return (
    <>
      <section className="card" aria-label="Summary">
        <Facts
          facts={[
            { title: "Image", value: <Text of={imageIn(spec)} className="mono" /> },
            { title: "Limits", value: <Text of={limitsIn(spec) || "none"} /> },
            { title: "Sleeps", value: <Text of={sleepIn(spec)} /> },
            {
              title: "Runtime class",
              value: <Text of={spec.podTemplate?.spec?.runtimeClassName ?? "default of the machine"} />,
            },
            { title: "Runtime API", value: spec.runtime === "Injected" ? "sandboxd is injected" : "that of the image" },
            {
              title: "Network policy",
              value: spec.networkPolicyManagement === "Unmanaged" ? "not managed" : "managed",
            },
            { title: "Environment", value: env && <Text of={env} className="mono" /> },
          ]}
        />
      </section>
      <Pools template={template} />
      <Made namespace={metadata.namespace} name={metadata.name} />
      <ObjectEvents object={template} />
      <YamlPreview objects={[template]} />
    </>
  );
}

function Pools({ template }: { readonly template: SandboxTemplate }) {
  const { namespace, name = "" } = template.metadata;
  const { items } = useList(sandboxWarmPools, namespace);
  const pools = items.filter((pool) => !isShadow(pool) && pool.spec.sandboxTemplateRef.name === name);
  return (
    <Section
      title="Warm pools"
      aside={<NewPoolButton initial={{ template: name, namespace: namespace ?? "", name: `${name}-pool` }} />}
    >
      {pools.length === 0 ? (
        <p className="pad faint">None. A sandbox from this template starts when somebody asks for it.</p>
      ) : (
        <ul className="pool-list">
          {pools.map((pool) => (
            <li key={keyOf(pool)}>
              <div className="pool-line">
                <span className="strong">
                  <ObjectLink folder="pools" namespace={namespace} name={pool.metadata.name} />
                </span>
                <span className="soft">
                  {poolState(pool).ready} of {poolState(pool).wanted} ready
                </span>
              </div>
              <PoolBar pool={pool} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Made({ namespace, name }: { readonly namespace: string | undefined; readonly name: string | undefined }) {
  const { items } = useList(sandboxes, namespace);
  const made = useMemo(
    () => items.filter((one: Sandbox) => one.metadata.annotations?.[sandboxTemplateRefAnnotation] === name),
    [items, name],
  );
  return <SandboxTable title="Sandboxes" items={made} empty="No sandbox was made from it yet." />;
}
