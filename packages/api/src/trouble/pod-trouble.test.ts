import { expect, test } from "vitest";
import type { ContainerStatus, Pod, PodStatus } from "../kubernetes.ts";
import { describeTrouble, podTroubleOf } from "./pod-trouble.ts";

const waiting = (reason: string, message?: string, over: Partial<ContainerStatus> = {}): ContainerStatus =>
  ({ name: "main", image: "x", ready: false, state: { waiting: { reason, message } }, ...over }) as ContainerStatus;
const ended = (exitCode: number, reason = "Error") => ({ terminated: { exitCode, reason } });
const pod = (status: PodStatus, spec: object = {}): Pick<Pod, "spec" | "status"> => ({
  status,
  spec: { containers: [], ...spec },
});
const container = (...containerStatuses: ContainerStatus[]) => pod({ phase: "Pending", containerStatuses });
const sentence = (of: Pick<Pod, "spec" | "status">): string | undefined => {
  const trouble = podTroubleOf(of);
  return trouble && describeTrouble(trouble);
};

test.for<[string, Pick<Pod, "spec" | "status">, string | undefined]>([
  [
    "an image that cannot be pulled",
    container(waiting("ErrImagePull", "not found")),
    'container "main": cannot pull image "x": not found',
  ],
  [
    "the same between attempts",
    container(waiting("ImagePullBackOff", 'Back-off pulling image "x": ErrImagePull: not found')),
    'container "main": cannot pull image "x": not found',
  ],
  [
    "an error of the container runtime, without the wrapping of gRPC",
    container(waiting("ErrImagePull", "rpc error: code = NotFound desc = not found")),
    'container "main": cannot pull image "x": not found',
  ],
  [
    "an error of the box's node, which names the image too",
    container(waiting("ErrImagePull", 'Cannot pull image "docker.io/x:latest": its registry is unknown')),
    'container "main": cannot pull image "x": its registry is unknown',
  ],
  [
    "an image that must not be pulled",
    container(waiting("ErrImageNeverPull", "it is not present")),
    'container "main": cannot use image "x": it is not present',
  ],
  ...(
    [
      ["ErrImagePull", 'Cannot use image "y": it was removed', 'cannot pull image "x": it was removed'],
      [
        "ErrImagePull",
        'rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/x:latest": failed to resolve reference "docker.io/x:latest": docker.io/x:latest: not found',
        'cannot pull image "x": not found',
      ],
      [
        "ImagePullBackOff",
        'Back-off pulling image "x": ErrImagePull: failed to pull and unpack image "x": failed to copy: timed out',
        'cannot pull image "x": failed to copy: timed out',
      ],
      ["ImagePullBackOff", 'Back-off pulling image "x"', 'cannot pull image "x"'],
      [
        "ErrImageNeverPull",
        'Cannot use image "docker.io/x:latest": it is not present, and its pull policy is Never',
        'cannot use image "x": it is not present, and its pull policy is Never',
      ],
      [
        "ErrImageNeverPull",
        'Container image "x" is not present with pull policy of Never',
        'cannot use image "x": it is not present with pull policy of Never',
      ],
      ["InvalidImageName", 'Invalid image reference "x": it is empty', 'cannot use image "x": it is empty'],
      [
        "InvalidImageName",
        'Failed to apply default image tag "x": couldn\'t parse image name "x": invalid reference format',
        'cannot use image "x": invalid reference format',
      ],
      [
        "ImageInspectError",
        'Failed to inspect image "x": rpc error: code = Unknown desc = no space',
        'cannot use image "x": no space',
      ],
      ["RegistryUnavailable", 'Cannot pull image "x": it is away', 'cannot use image "x": it is away'],
      ["RegistryUnavailable", "", 'cannot use image "x"'],
      [
        "ErrImagePull",
        'the registry says: Cannot use image "y": no',
        'cannot pull image "x": the registry says: Cannot use image "y": no',
      ],
      ["ErrImagePull", 'Cannot pull image "', 'cannot pull image "x": Cannot pull image "'],
    ] as const
  ).map(([reason, message, expected]): [string, Pick<Pod, "spec" | "status">, string] => [
    `the image once: ${reason} with ${message}`,
    container(waiting(reason, message)),
    `container "main": ${expected}`,
  ]),
  [
    "a missing ConfigMap",
    container(waiting("CreateContainerConfigError", 'configmap "c" not found')),
    'container "main": CreateContainerConfigError: configmap "c" not found',
  ],
  [
    "a volume that the box's node cannot mount",
    container(waiting("ContainerCreating", 'secret "s" not found')),
    'container "main": cannot start: secret "s" not found',
  ],
  [
    "a crash loop, without the delay",
    container(waiting("CrashLoopBackOff", "back-off 20s restarting", { lastState: ended(3) })),
    'container "main": exited with code 3 (Error) and is restarted',
  ],
  [
    "a container that has just been restarted",
    pod({
      phase: "Running",
      conditions: [{ type: "Ready", status: "False", lastTransitionTime: "2026-01-01T00:00:00Z" }],
      containerStatuses: [
        { name: "main", ready: false, state: { running: { startedAt: "2026-01-01T00:00:01Z" } }, lastState: ended(3) },
      ] as ContainerStatus[],
    }),
    'container "main": exited with code 3 (Error) and is restarted',
  ],
  [
    "too little memory",
    container(waiting("CrashLoopBackOff", "", { lastState: ended(137, "OOMKilled") })),
    'container "main": ran out of memory (OOMKilled, exit code 137) and is restarted',
  ],
  [
    "a Pod that does not fit",
    pod({
      phase: "Pending",
      conditions: [
        { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes are available" },
      ],
    }),
    "cannot be scheduled: 0/1 nodes are available",
  ],
  [
    "an init container that fails",
    pod({
      phase: "Pending",
      initContainerStatuses: [
        { name: "first", ready: true, state: ended(0, "Completed") },
        { name: "second", ready: false, state: ended(1) },
      ] as ContainerStatus[],
      containerStatuses: [waiting("PodInitializing")],
    }),
    'init container "second": exited with code 1 (Error) and is restarted',
  ],
  [
    "a container that ended for good",
    pod(
      { phase: "Failed", containerStatuses: [{ name: "main", ready: false, state: ended(3) }] as ContainerStatus[] },
      { restartPolicy: "Never" },
    ),
    'container "main": exited with code 3 (Error)',
  ],
  [
    "a readiness probe, by the names of all containers that have one",
    pod(
      {
        phase: "Running",
        containerStatuses: [
          { name: "a", ready: true, state: { running: {} } },
          { name: "b", ready: false, state: { running: {} } },
        ] as ContainerStatus[],
      },
      {
        containers: [
          { name: "a", readinessProbe: {} },
          { name: "b", readinessProbe: {} },
        ],
      },
    ),
    'the readiness probe of container "a", "b" has not succeeded',
  ],
  ["nothing of a Pod that is starting", container(waiting("ContainerCreating"), waiting("PodInitializing")), undefined],
  [
    "nothing of one that runs without a probe",
    pod({
      phase: "Running",
      containerStatuses: [{ name: "main", ready: false, state: { running: {} } }] as ContainerStatus[],
    }),
    undefined,
  ],
  [
    "nothing of one that is ready after a restart",
    pod({
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [{ name: "main", state: { running: {} }, lastState: ended(3) }] as ContainerStatus[],
    }),
    undefined,
  ],
  ["nothing of a Pod without status", {}, undefined],
])("says %s (STATUS-16)", ([, given, expected]) => {
  expect(sentence(given)).toBe(expected);
});

test("a restart long ago does not explain a probe that fails now (STATUS-16)", () => {
  const given = pod(
    {
      phase: "Running",
      conditions: [{ type: "Ready", status: "False", lastTransitionTime: "2026-01-02T00:00:00Z" }],
      containerStatuses: [
        { name: "main", ready: false, state: { running: { startedAt: "2026-01-01T00:00:01Z" } }, lastState: ended(3) },
      ] as ContainerStatus[],
    },
    { containers: [{ name: "main", readinessProbe: {} }] },
  );
  expect(sentence(given)).toBe('the readiness probe of container "main" has not succeeded');
});

test.for([
  ["a container that ends as it should", { restartPolicy: "Never" }, false],
  ["one that ends and is restarted", { restartPolicy: "Always" }, true],
] as const)("whether %s is a fault", ([, spec, isFault]) => {
  const containerStatuses = [{ name: "main", ready: false, state: ended(0, "Completed") }] as ContainerStatus[];
  expect(podTroubleOf(pod({ phase: "Running", containerStatuses }, spec))?.isFault).toBe(isFault);
});

test("text of a tenant is one line without control characters, and short (ABUSE-14)", () => {
  const image = `evil\u001b[2J\nReady: True\u202e${"x".repeat(5_000)}`;
  const message = `first\r\nsecond\u0000\u2028third\ud800 ${"y".repeat(100_000)}`;
  const text = sentence(container(waiting("ErrImagePull", message, { name: "a\tb", image }))) ?? "";
  expect(text).toMatch(
    /^container "a b": cannot pull image "evil \[2J Ready: True\ufffdx+…": first second third\ufffd y/,
  );
  expect(text.length).toBeLessThanOrEqual(1024);
  expect(text).not.toMatch(/\p{Cc}|\p{Bidi_Control}|[\u2028\u2029]/u);
  expect(text.isWellFormed()).toBe(true);
});
