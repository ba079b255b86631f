import type { Definitions, OpenApiSchema } from "./kubernetes-definitions.ts";

/** Descriptions of the fields of a Kubernetes type, one or two sentences each. */
export type FieldTexts = { readonly [field: string]: string };

/** By the names of definitions. */
export type Texts = { readonly [definition: string]: FieldTexts };

const core = "io.k8s.api.core.v1.";

const containerTexts: FieldTexts = {
  args: "Arguments of the command. Default: those of the image.",
  command: "The command, which replaces the image's entry point. It is not run in a shell.",
  env: "Environment variables.",
  envFrom: "ConfigMaps and Secrets whose keys become environment variables.",
  image: "The image of the container.",
  imagePullPolicy: "When to pull the image: Always, IfNotPresent or Never.",
  lifecycle: "Hooks that run after the container has started and before it is stopped.",
  livenessProbe: "Restarts the container when it fails.",
  name: "The name of the container, unique in the Pod.",
  ports: "Ports of the container. They are informational and give ports names.",
  readinessProbe: "The container receives traffic while it succeeds.",
  resizePolicy: "Whether changed resources restart the container.",
  resources: "Requested and maximum resources, such as CPU and memory.",
  restartPolicy: "The restart policy, if it differs from that of the Pod.",
  restartPolicyRules: "Rules that override the restart policy by exit code.",
  securityContext: "Users, capabilities and other security settings of the container.",
  startupProbe: "Other probes wait until it succeeds.",
  stdin: "Whether the container has a standard input that clients can attach to.",
  stdinOnce: "Whether standard input closes when the first client detaches.",
  terminationMessagePath: "The file with the termination message of the container.",
  terminationMessagePolicy: "The source of the termination message: that file, or the end of the log after a failure.",
  tty: "Whether the container has a terminal. Requires stdin.",
  volumeDevices: "Volumes that are block devices in the container.",
  volumeMounts: "Where the volumes of the Pod are mounted.",
  workingDir: "The working directory. Default: that of the image.",
};

const podSpec: FieldTexts = {
  activeDeadlineSeconds: "The time after which the Pod is ended and counts as failed.",
  affinity: "Rules for choosing a node by its labels and by other Pods.",
  automountServiceAccountToken: "Whether a token of the service account is mounted.",
  containers: "The containers of the Pod. At least one.",
  dnsConfig: "Additional DNS settings.",
  dnsPolicy: "Which name servers the Pod uses.",
  enableServiceLinks: "Whether containers get environment variables for Services.",
  ephemeralContainers: "Containers added to a running Pod for debugging.",
  hostAliases: "Additional lines of the hosts file.",
  hostIPC: "Whether the Pod uses the IPC namespace of the node.",
  hostNetwork: "Whether the Pod uses the network of the node.",
  hostPID: "Whether the Pod uses the process namespace of the node.",
  hostUsers: "Whether the Pod uses the user namespace of the node.",
  hostname: "The host name. Default: the name of the Pod.",
  hostnameOverride: "The host name, regardless of the subdomain.",
  imagePullSecrets: "Secrets with credentials for registries.",
  initContainers: "Containers that run one after the other before the others start.",
  nodeName: "The node of the Pod. Set by the scheduler.",
  nodeSelector: "Labels that the node must have.",
  os: "The operating system of the containers.",
  overhead: "Resources that the Pod needs in addition to its containers. Set from the RuntimeClass.",
  preemptionPolicy: "Whether the Pod may preempt Pods of lower priority.",
  priority: "The priority. Set from the priority class.",
  priorityClassName: "The name of the priority class.",
  readinessGates: "Additional conditions that must be true before the Pod is ready.",
  resourceClaims: "Devices that must be allocated before the Pod starts.",
  resources: "Requested and maximum resources of all containers together.",
  restartPolicy: "When ended containers are restarted: Always, OnFailure or Never.",
  runtimeClassName: "The RuntimeClass that runs the containers.",
  schedulerName: "The scheduler that chooses the node.",
  schedulingGates: "The Pod is not scheduled while it has any of these.",
  schedulingGroup: "Pods that are scheduled together.",
  securityContext: "Security settings for all containers. A container can override them.",
  serviceAccount: "The deprecated name of serviceAccountName.",
  serviceAccountName: "The service account of the Pod.",
  setHostnameAsFQDN: "Whether the host name is the fully qualified domain name.",
  shareProcessNamespace: "Whether the containers share one process namespace.",
  subdomain: "The headless Service under which the Pod has a DNS name.",
  terminationGracePeriodSeconds: "How long processes have to end after they are asked to.",
  tolerations: "Taints of nodes that the Pod tolerates.",
  topologySpreadConstraints: "How Pods are spread over zones and nodes.",
  volumes: "Volumes that containers can mount.",
};

/** The types that our kinds embed directly. More deeply nested types have no descriptions, to keep the CRDs small. */
export const embeddedTexts: Texts = {
  [`${core}Container`]: containerTexts,
  [`${core}PersistentVolumeClaimSpec`]: {
    accessModes: "How the volume can be mounted, for example ReadWriteOnce.",
    dataSource: "A snapshot or claim in the same namespace with the initial content.",
    dataSourceRef: "An object of any kind with the initial content.",
    resources: "Requested storage.",
    selector: "Selects volumes by label.",
    storageClassName: "The storage class. Default: the default class.",
    volumeAttributesClassName: "The class of volume attributes that can be changed later.",
    volumeMode: "Whether the volume is a filesystem or a block device.",
    volumeName: "The volume that the claim is bound to.",
  },
  [`${core}PodSpec`]: podSpec,
  "io.k8s.api.networking.v1.NetworkPolicyEgressRule": {
    ports: "Allowed ports. Default: all.",
    to: "Allowed destinations. Default: all.",
  },
  "io.k8s.api.networking.v1.NetworkPolicyIngressRule": {
    from: "Allowed sources. Default: all.",
    ports: "Allowed ports. Default: all.",
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
