/** Separated by spaces. */
const fields = (prefix: string, text: string): string[] =>
  text
    .trim()
    .split(/\s+/)
    .map((field) => `${prefix}${field}`);

const inPod = fields(
  "spec.",
  `nodeName hostname subdomain serviceAccountName runtimeClassName hostAliases dnsConfig dnsPolicy hostNetwork hostPID hostIPC
  hostUsers shareProcessNamespace securityContext imagePullSecrets initContainers ephemeralContainers tolerations
  priorityClassName activeDeadlineSeconds overhead securityContext.sysctls securityContext.fsGroup
  terminationGracePeriodSeconds volumes volumes.0 volumes.0.hostPath volumes.0.configMap volumes.0.projected volumes.0.image
  volumes.0.persistentVolumeClaim.claimName volumes.0.emptyDir volumes.0.downwardAPI volumes.0.secret volumes.0.name`,
);
const inContainer = fields(
  "spec.containers.0.",
  `image command args workingDir env envFrom lifecycle livenessProbe startupProbe ports readinessProbe name resources
  readinessProbe.httpGet.host readinessProbe.tcpSocket.host lifecycle.postStart.httpGet.host terminationMessagePath
  securityContext securityContext.capabilities volumeDevices volumeMounts volumeMounts.0.mountPath volumeMounts.0.subPath
  volumeMounts.0.subPathExpr volumeMounts.0.mountPropagation volumeMounts.0.recursiveReadOnly`,
);
const inTemplate = [...inPod, ...inContainer, "metadata.labels", "metadata.annotations"].map(
  (field) => `spec.podTemplate.${field}`,
);

/** Fields that become an address, a path, a name, a rule or a command on the machine. They are changed more often than others. */
export const favouriteFields: Readonly<Record<string, readonly string[]>> = {
  pods: [...inPod, ...inContainer],
  sandboxes: [
    ...inTemplate,
    ...fields("spec.", "service replicas operatingMode volumeClaimTemplates shutdownTime idlePolicy runtime"),
  ],
  sandboxtemplates: [...inTemplate, ...fields("spec.", "networkPolicy networkPolicyManagement")],
  sandboxwarmpools: fields("spec.", "sandboxTemplateRef.name replicas"),
  sandboxclaims: fields("", "spec.warmPoolRef.name spec.sandboxTemplateRef spec.env spec.lifecycle status.sandbox"),
  sandboxsnapshots: fields("spec.", "sandboxRef.name claimRef depth volumes ttlSecondsAfterCreation deletionPolicy"),
  services: fields(
    "spec.",
    `clusterIP clusterIPs externalIPs externalName loadBalancerIP type selector ports ports.0.nodePort ports.0.port
    ports.0.targetPort healthCheckNodePort ipFamilies`,
  ),
  networkpolicies: fields(
    "spec.",
    `ingress.0.ports.0.endPort ingress.0.ports.0.port ingress.0.from.0.ipBlock.cidr ingress.0.from.0.ipBlock.except
    egress.0.to.0.ipBlock egress.0.to.1.namespaceSelector egress.0.ports podSelector`,
  ),
  endpoints: fields("subsets.0.", "addresses.0.ip addresses.0.targetRef ports"),
  endpointslices: fields("", "endpoints.0.addresses endpoints.0.targetRef ports metadata.labels"),
  persistentvolumeclaims: fields("spec.", "volumeName storageClassName dataSource accessModes resources.requests"),
  serviceaccounts: fields("", "secrets imagePullSecrets"),
  secrets: fields("", "type data metadata.annotations"),
  configmaps: fields("", "data binaryData"),
};
