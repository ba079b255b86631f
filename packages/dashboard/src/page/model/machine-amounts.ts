/** The limits of a machine as text, from its report. Pure. */
import { type MachineAmountName, type MachineReport, machineAmounts } from "@agent-sandbox/api";
import { formatBytes } from "../components/format.ts";

const titles: Readonly<Record<MachineAmountName, string>> = {
  diskBytes: "Disk",
  imageBytes: "Images",
  savedBytes: "Saved memory",
  snapshotBytes: "Snapshots",
  savedImages: "Number of saved memories",
  snapshots: "Number of snapshots",
  sandboxMemoryBytes: "Memory of all sandboxes",
  sandboxProcesses: "Processes of all sandboxes",
  diskReserveBytes: "Disk that is kept free",
  containerMemoryBytes: "Memory of a container without a limit",
  containerProcesses: "Processes of a container",
  podDiskBytes: "Disk of a sandbox without a limit",
};

export interface ShownAmount {
  readonly name: MachineAmountName;
  readonly title: string;
  readonly used: string | undefined;
  readonly most: string | undefined;
  /** From 0 to 1, if both are known. */
  readonly share: number | undefined;
}

export function shownAmounts({ amounts }: MachineReport): ShownAmount[] {
  return machineAmounts.flatMap((name) => {
    const { used, most } = amounts[name] ?? {};
    if (used === undefined && most === undefined) return [];
    const text = (value: number | undefined): string | undefined =>
      value === undefined ? undefined : name.endsWith("Bytes") ? formatBytes(value) : value.toLocaleString("en");
    return [{ name, title: titles[name], used: text(used), most: text(most), share: shareOf(used, most) }];
  });
}

function shareOf(used: number | undefined, most: number | undefined): number | undefined {
  if (used === undefined || most === undefined) return undefined;
  return most === 0 ? 1 : Math.min(1, used / most);
}
