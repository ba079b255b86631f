/** One node: its system, its conditions, what is requested of it, and the report of the box about its machine. */
import { machineReportAnnotation, type Node, parseMachineReport } from "@agent-sandbox/api";
import { useMemo } from "react";
import { Link } from "wouter";
import { Facts } from "../components/facts.tsx";
import { formatBytes } from "../components/format.ts";
import { Section } from "../components/section.tsx";
import { Text } from "../components/text.tsx";
import { RelativeTime } from "../components/time.tsx";
import { imagesOf } from "../model/images.ts";
import { Amounts } from "./amounts.tsx";
import { Checks } from "./checks.tsx";
import { NodeBadges } from "./node-badges.tsx";
import { NodeConditions } from "./node-conditions.tsx";
import { Room } from "./room.tsx";
import { Runtimes } from "./runtimes.tsx";

export function NodeDetails({ node }: { readonly node: Node }) {
  const text = node.metadata?.annotations?.[machineReportAnnotation];
  const report = useMemo(() => parseMachineReport(text), [text]);
  const { nodeInfo, addresses = [] } = node.status ?? {};
  const address = addresses.find(({ type }) => type === "InternalIP")?.address;
  const facts = [
    { title: "System", value: <Text of={nodeInfo?.osImage} /> },
    { title: "Kernel", value: <Text of={nodeInfo?.kernelVersion} /> },
    { title: "Architecture", value: <Text of={nodeInfo?.architecture} /> },
    { title: "Runtime", value: <Text of={nodeInfo?.containerRuntimeVersion} /> },
    { title: "Version of the node", value: <Text of={nodeInfo?.kubeletVersion} /> },
    { title: "Address", value: <Text of={address} className="mono" /> },
    { title: "Images", value: <ImagesLink node={node} /> },
    { title: "Registered", value: <RelativeTime at={node.metadata?.creationTimestamp} suffix=" ago" /> },
  ];
  return (
    <>
      <Section
        title={node.metadata?.name ?? ""}
        aside={
          <span className="inline">
            <NodeBadges node={node} />
          </span>
        }
      >
        <Facts facts={facts} />
      </Section>
      <div className="columns columns-even">
        <div className="stack">
          <Room node={node} />
          {report !== undefined && <Runtimes report={report} />}
        </div>
        <NodeConditions node={node} />
      </div>
      {report !== undefined && (
        <>
          <Amounts report={report} />
          <Checks report={report} />
        </>
      )}
    </>
  );
}

function ImagesLink({ node }: { readonly node: Node }) {
  const images = imagesOf([node]);
  const total = images.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return <Link href="/images">{`${images.length} with ${formatBytes(total)}`}</Link>;
}
