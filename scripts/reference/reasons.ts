/** A reason of a condition or an event: when it appears and what to do then. */
export interface Reason {
  /** The types of the conditions, or `event`. */
  readonly on: string;
  readonly reason: string;
  readonly meaning: string;
}

const row = (on: string, reason: string, meaning: string): Reason => ({ on, reason, meaning });

/** By kind, in the order of the page. `reasons.test.ts` compares the list with the sources of the controllers. */
export const reasons: Readonly<Record<string, readonly Reason[]>> = {
  Sandbox: [
    row("Ready=True", "DependenciesReady", "The Pod is ready, and so is the Service if the Sandbox has one."),
    row("Ready=False", "DependenciesNotReady", "The Pod is starting or cannot start. The message says which, and why."),
    row(
      "Ready=False",
      "SandboxSuspended",
      "The Sandbox is suspended or idle. Traffic or `agent-sandbox resume` wakes it.",
    ),
    row("Ready=False", "PodReplacing", "The node lost or evicted the Pod. A new Pod replaces it."),
    row("Ready=False", "InvalidConfiguration", "The API server refuses the Pod or its volumes. Correct the spec."),
    row("Ready=False", "ReconcilerError", "Something failed. The controller tries again; the message has the error."),
    row("Ready=False, event", "MultiplePods", "Several Pods belong to the Sandbox. Delete all but one."),
    row("Ready=False", "SandboxExpired", "`shutdownTime` has passed. A later `shutdownTime` starts it again."),
    row("Ready=False, Finished=True", "PodSucceeded", "The process has ended with exit code 0."),
    row("Ready=False, Finished=True", "PodFailed", "The process has ended with another exit code, or was killed."),
    row(
      "event",
      "PodNotReady",
      "The Pod cannot become ready, or is replaced. The event has the cause, as the message of `Ready` does.",
    ),
    row("PodScheduled", "PodScheduled", "The Pod has a node. Other reasons are copied from the Pod."),
    row("PodScheduled=Unknown", "PodSchedulingUnknown", "The Pod has not reported yet, or cannot be read."),
    row("Suspended=False", "NotSuspended", "The Sandbox is meant to run."),
    row("Suspended=False", "Saving", "The Pod's memory is being saved."),
    row("Suspended=False", "Restoring", "The Sandbox is suspended when the restore that is in progress has ended."),
    row("Suspended=False", "PodTerminating", "The Pod is ending."),
    row(
      "Suspended=False",
      "PodNotOwned",
      "A Pod with the Sandbox's name belongs to somebody else. Delete or rename it.",
    ),
    row("Suspended=True", "PodTerminated", "The Sandbox is suspended; the message has the depth."),
    row("Suspended=True", "Idle", "The Sandbox was suspended by its `idlePolicy`. Also while it is being suspended."),
    row("Suspended=Unknown", "PodStateUnknown", "The Pod cannot be read."),
    row("Restored=True", "MemoryRestored", "The Sandbox continues its saved memory."),
    row(
      "PodOutdated=True",
      "PodTemplateChanged",
      "The Pod runs an older spec. `agent-sandbox restart` replaces it. Absent otherwise.",
    ),
  ],
  "Saved state": [
    row(
      "Suspended, Restored, Ready",
      "RuntimeCannotSave",
      "The runtime, or this cluster, cannot keep the depth. Use gVisor, or a lower depth.",
    ),
    row(
      "Suspended, Restored",
      "SaveFailed",
      "The state could not be saved. The Sandbox keeps running, or was suspended with less.",
    ),
    row(
      "Restored, Ready",
      "RestoreFailed",
      "The state could not be restored. The message has the cause; the image is kept.",
    ),
    row("Restored, Ready", "ImageMissing", "The saved state is gone."),
    row("Restored, Ready", "ImageDamaged", "The saved state does not match its checksum."),
    row("Restored, Ready", "RuntimeVersionDiffers", "It was saved by another version of gVisor."),
    row("Restored, Ready", "CPUFeaturesDiffer", "It was saved on a processor with other features."),
    row(
      "Suspended, Restored",
      "VolumeNotLocal",
      "A volume is not on the machine, so its content cannot be saved with the memory.",
    ),
    row(
      "Suspended, snapshot",
      "QuotaExceeded",
      "A limit of saved state is reached. Delete snapshots, or change `node.state` in `config.json`.",
    ),
    row("snapshot", "SourceNotRunning", "The Sandbox to be captured does not run."),
    row("Restored, Ready", "SnapshotNotFound", "The snapshot of `restoreFrom` does not exist."),
    row("Restored, Ready", "SnapshotNotReady", "The snapshot of `restoreFrom` is not complete."),
    row("snapshot", "ArchiveInvalid", "The imported archive is damaged, or not from this product."),
    row(
      "Restored, Ready",
      "KeyUnavailable",
      "The image is encrypted with a key that `node.stateKeyFiles` does not have.",
    ),
  ],
  SandboxClaim: [
    row("Ready", "…", "A bound claim repeats the Ready condition of its Sandbox."),
    row("Ready=False", "SandboxNotReady", "The claim has a Sandbox that has not reported yet."),
    row("Ready=False", "SandboxMissing", "The claim has no Sandbox, or its Sandbox was deleted."),
    row("Ready=False", "WarmPoolNotFound", "The pool of `warmPoolRef` does not exist."),
    row("Ready=False", "TemplateNotFound", "The pool's template does not exist."),
    row("Ready=False", "AdoptionConflict", "Another claim took the Sandbox. The controller tries the next one."),
    row("Ready=False", "InvalidMetadata", "`additionalPodMetadata` is not allowed."),
    row("Ready=False", "EnvVarsInjectionRejected", "The template does not allow `env`."),
    row(
      "Ready=False",
      "VolumeClaimTemplatesError",
      "The template does not allow `volumeClaimTemplates`, or their names collide.",
    ),
    row("Ready=False, event", "ClaimExpired", "The claim's `lifecycle` has ended."),
    row("event", "SandboxAdopted", "The claim got a Sandbox of the pool."),
    row("event", "SandboxProvisioned", "No Sandbox of the pool was free, so one was created."),
  ],
  SandboxWarmPool: [
    row("Ready=True", "MembersReady", "All members are ready."),
    row("Ready=False", "MembersNotReady", "Members are starting or cannot start. The message says why."),
    row("Ready=False", "Unschedulable", "Members do not fit the nodes."),
    row("TemplateFound=True", "TemplateFound", "The template exists."),
    row("TemplateFound=False", "TemplateNotFound", "The template does not exist."),
    row(
      "event",
      "WarmPoolNotProgressing",
      "Members cannot start, or cannot be scheduled for a long time. The event says why.",
    ),
    row("event", "WarmPoolProgressing", "Members can be scheduled again."),
  ],
  SandboxSnapshot: [
    row("Ready=True", "Complete", "The snapshot is complete. Other reasons are those of saved state."),
    row("event", "SnapshotEvicted", "The snapshot was deleted to make room."),
  ],
};
