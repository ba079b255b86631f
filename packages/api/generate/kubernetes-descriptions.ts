import type { Definitions, OpenApiSchema } from "./kubernetes-definitions.ts";

/** Descriptions of the fields of a Kubernetes type, one or two sentences each. */
export type FieldTexts = { readonly [field: string]: string };

/** By the names of definitions. */
export type Texts = { readonly [definition: string]: FieldTexts };

const core = "io.k8s.api.core.v1.";

export const containerTexts: FieldTexts = {
  args: "What the command is given. Absent: what the image says.",
  command: "What runs, in place of the image's entry point. No shell is involved.",
  env: "Variables of the process.",
  envFrom: "Sources of many variables at once: each key of a ConfigMap or Secret becomes one.",
  image: "The image that the container is made of.",
  imagePullPolicy: "When the image is looked up in its registry again.",
  lifecycle: "What to do right after the start and before the end.",
  livenessProbe: "How to find out that the container hangs and must be started again.",
  name: "Tells the container from the others of the Pod.",
  ports: "Ports that the container serves, as information and for names.",
  readinessProbe: "How to find out whether the container can take traffic.",
  resizePolicy: "Whether a change of its resources restarts the container.",
  resources: "How much processor, memory and other things it wants and may take.",
  restartPolicy: "When this container is started again, where that differs from the Pod.",
  restartPolicyRules: "When it is started again, by the code it ended with.",
  securityContext: "What the container may do and as whom it runs.",
  startupProbe: "How to find out that the container has started; the other probes wait for it.",
  stdin: "Whether input can be attached.",
  stdinOnce: "Whether the input ends with the first who attached to it.",
  terminationMessagePath: "The file where the container leaves its last words.",
  terminationMessagePolicy: "Where the last words come from: that file, or the log after a failure.",
  tty: "Whether it gets a terminal. Needs stdin.",
  volumeDevices: "Volumes that it sees as block devices.",
  volumeMounts: "Where it sees the volumes of the Pod.",
  workingDir: "Where the command starts. Absent: where the image says.",
};

const podSpec: FieldTexts = {
  activeDeadlineSeconds: "How long the Pod may take before it is ended and counted as failed.",
  affinity: "Which nodes, and the company of which Pods, it seeks or avoids.",
  automountServiceAccountToken: "Whether containers get a token of the service account.",
  containers: "What runs in the Pod; at least one.",
  dnsConfig: "Additions to how names are looked up.",
  dnsPolicy: "Whose name servers the Pod asks.",
  enableServiceLinks: "Whether containers get variables that tell of Services.",
  ephemeralContainers: "Containers that were added to look into a running Pod.",
  hostAliases: "Lines to add to the hosts file.",
  hostIPC: "Whether the Pod shares the node's interprocess communication.",
  hostNetwork: "Whether the Pod uses the network of the node.",
  hostPID: "Whether the Pod sees the processes of the node.",
  hostUsers: "Whether the Pod uses the node's user IDs rather than a range of its own.",
  hostname: "What the Pod calls itself. Absent: its name.",
  hostnameOverride: "What the Pod calls itself, whatever its subdomain.",
  imagePullSecrets: "Secrets with the credentials of registries.",
  initContainers: "What runs before the others start, one after the other.",
  nodeName: "The node that the Pod is on. Schedulers fill it in.",
  nodeSelector: "Labels that its node must have.",
  os: "The operating system that its containers are for.",
  overhead: "What the Pod costs beside its containers. The RuntimeClass fills it in.",
  preemptionPolicy: "Whether it may push out Pods of lower priority.",
  priority: "How important it is. The priority class fills it in.",
  priorityClassName: "The class that says how important it is.",
  readinessGates: "Conditions of others that must hold before the Pod is ready.",
  resourceClaims: "Devices that must be there before the Pod starts.",
  resources: "What all its containers together want and may take.",
  restartPolicy: "When containers that ended are started again.",
  runtimeClassName: "What runs the containers.",
  schedulerName: "Who chooses the node.",
  schedulingGates: "What the choice of a node waits for.",
  schedulingGroup: "The Pods with which it is placed together.",
  securityContext: "What holds for all its containers, unless they say otherwise.",
  serviceAccount: "The old name of serviceAccountName.",
  serviceAccountName: "The account that the Pod runs as.",
  setHostnameAsFQDN: "Whether it calls itself by its full domain name.",
  shareProcessNamespace: "Whether its containers see each other's processes.",
  subdomain: "The headless Service under which it is found by name.",
  terminationGracePeriodSeconds: "How long its processes have to end by themselves.",
  tolerations: "Taints of nodes that do not keep it away.",
  topologySpreadConstraints: "How it is spread over zones and nodes with others of its kind.",
  volumes: "What containers can mount.",
};

/** The types that our kinds embed directly. More deeply nested types have no descriptions, to keep the CRDs small. */
export const embeddedTexts: Texts = {
  [`${core}Container`]: containerTexts,
  [`${core}PersistentVolumeClaimSpec`]: {
    accessModes: "How many may mount the volume, and whether to write.",
    dataSource: "A snapshot or claim of the same namespace to start from.",
    dataSourceRef: "What to start from, of any kind.",
    resources: "How much storage is wanted.",
    selector: "Which volumes will do.",
    storageClassName: "The class that makes the volume. Absent: the default one.",
    volumeAttributesClassName: "The class of what can be changed about the volume later.",
    volumeMode: "Whether it is mounted as files or seen as a block device.",
    volumeName: "The volume that the claim is bound to.",
  },
  [`${core}PodSpec`]: podSpec,
  "io.k8s.api.networking.v1.NetworkPolicyEgressRule": {
    ports: "To which ports. Absent: to all.",
    to: "To whom. Absent: to everybody.",
  },
  "io.k8s.api.networking.v1.NetworkPolicyIngressRule": {
    from: "From whom. Absent: from everybody.",
    ports: "To which ports. Absent: to all.",
  },
};

/** Adds the descriptions to the definitions. Fails if a described field does not exist. */
export function describeDefinitions(definitions: Definitions, texts: Texts): Definitions {
  const described = Object.entries(texts).map(([name, fields]) => {
    const definition = definitions[name];
    if (definition === undefined) throw new Error(`Cannot describe "${name}": there is no such definition`);
    return [name, describeFields(name, definition, fields)] as const;
  });
  return { ...definitions, ...Object.fromEntries(described) };
}

function describeFields(name: string, definition: OpenApiSchema, fields: FieldTexts): OpenApiSchema {
  const properties: Record<string, OpenApiSchema> = { ...definition.properties };
  for (const [field, description] of Object.entries(fields)) {
    const property = properties[field];
    if (property === undefined) throw new Error(`Cannot describe "${field}" of "${name}": it has no such field`);
    properties[field] = { ...property, description };
  }
  return { ...definition, properties };
}
