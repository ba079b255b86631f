const container = "{name: main, image: 'busybox:1'}";

export const pod = (name: string, spec = ""): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: demo}}
spec:
  automountServiceAccountToken: false
  containers: [${container}]
${spec}`;

export const configMap = (name: string, value = "1"): string => `
apiVersion: v1
kind: ConfigMap
metadata: {name: ${name}, labels: {app: demo}}
data: {key: "${value}"}
`;

export const service = (name: string): string => `
apiVersion: v1
kind: Service
metadata: {name: ${name}, labels: {app: demo}}
spec: {selector: {app: demo}, ports: [{port: 80, targetPort: 8080}]}
`;

export const sandbox = (name: string, more = "", version = "v1beta1"): string => `
apiVersion: agents.x-k8s.io/${version}
kind: Sandbox
metadata: {name: ${name}, labels: {app: demo}}
spec:
  podTemplate: {spec: {containers: [${container}]}}
${more}`;

export const template = (name: string): string => `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: {name: ${name}}
spec: {podTemplate: {spec: {containers: [${container}]}}}
`;

export const warmPool = (name: string, replicas = 2): string => `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: {name: ${name}}
spec: {replicas: ${replicas}, sandboxTemplateRef: {name: python}}
`;

export const claim = (name: string): string => `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxClaim
metadata: {name: ${name}}
spec: {warmPoolRef: {name: pool}}
`;

export const together = (...manifests: string[]): string => manifests.join("---");
