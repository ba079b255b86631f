import type { Exception } from "./exceptions.ts";

/** What the two servers answer differently, on purpose. */
export const knownDifferences: readonly Exception[] = [
  {
    why: "The box serves the kinds that sandboxes need, not Deployments, Jobs, quotas and the like",
    at: [
      "kubectl api-resources: 0.stdout",
      "kubectl api-resources of networking.k8s.io: 0.stdout",
      "kubectl api-versions: 0.stdout",
      "kubectl create and delete a namespace: 3.stdout",
      "discovery of all: *",
      "discovery of v1: 1.body.resources",
    ],
  },
  {
    why: "The version carries our name and says nothing of Go; health is one word; no address is published for clients of other networks",
    at: [
      "kubectl version: *",
      "kubectl cluster-info: 4.stdout.*",
      "discovery of v1: 0.body.serverAddressByClientCIDRs",
      "health: 3.body",
    ],
  },
  {
    why: "Explanations of fields and columns are in our own words, or missing",
    at: ["kubectl explain *: 0.stdout", "*: *.columnDefinitions.*.description"],
  },
  {
    why: "Every object of a list names its kind and version, which kube-apiserver leaves out for its own kinds",
    at: ["*: *.body.items.*.apiVersion", "*: *.body.items.*.kind"],
  },
  {
    why: "What cannot be read is described in other words than those of Go's decoders",
    at: [
      "* create from bad bodies: *.body.message",
      "* invalid bad base64: 0.body.message",
      "* invalid bad quantity: 0.body.message",
      "* invalid bad size: 0.body.message",
      "leases invalid bad time: 0.body.message",
      "configmaps invalid list as data: 0.body.message",
      "configmaps invalid number as value: 0.body.message",
      "serviceaccounts invalid object as secrets: 0.body.message",
      "serviceaccounts invalid text as flag: 0.body.message",
      "namespaces invalid text as finalizers: 0.body.message",
      "pods invalid text as list: 0.body.message",
      "priorityclasses invalid text as value: 0.body.message",
      "sandbox* create what is something else: 2.body.message",
      "* list with bad questions: 0.body.message",
      "* list with bad questions: 2.body.message",
      "* delete on conditions: 5.body.message",
      "* delete on conditions: 8.body.message",
      "* create from bad bodies: 4",
      "* patch by merge: 8.body.message",
      "* patch by merge: 9.body.message",
      "* patch by operations: 7.body.message",
      "* patch by operations: 9.body.*",
      "* patch by strategy: 4*",
      "* delete on conditions: 9.body.message",
    ],
  },
  {
    why: "A body of another kind or version than the path's is refused as such, in the same words for every kind",
    at: [
      "* create what is something else: 0*",
      "* create what is something else: 1.body.message",
      "* create what is something else: 3*",
      "* replace: 10*",
    ],
  },
  {
    why: "A revision that is no number, or not wanted, and a binding to no node are the client's mistakes; kube-apiserver reports an internal error (500)",
    at: [
      "bindings: 1",
      "bindings: 2",
      "* create what is misnamed: 7",
      "* replace: 9",
      "* watch: 8",
      "* read what is not there: 1",
      "* list with bad questions: 3.body.message",
    ],
  },
  {
    why: "A JSON patch that fails says which operation failed and why",
    at: [
      "* patch by operations: 2.body.*",
      "* patch by operations: 3.body.*",
      "* patch by operations: 4.body.*",
      "* patch by operations: 6.body.*",
      "kubectl patch by operations: *.stderr",
    ],
  },
  {
    why: "Messages carry no Go values, storage keys or excerpts of Go structures",
    at: [
      "* delete what is held: 2.body.*",
      "* replace: 5.body.message",
      "pods replace: *.message",
      "* patch by merge: 7.body.*",
      "* read what is not there: 2.body.message",
      "* read metadata alone: 4.body.message",
      "* read metadata alone: 5.body.message",
      "services create what is misnamed: 0.body.*",
      "services invalid same port twice: 0.body.*",
      "kubectl changes what cannot be changed: *.stderr",
      "kubectl patch by merge: 4.stderr",
      "kubectl set: 5.stderr",
      "kubectl debug: 3.stderr",
      "nobody and the wrong somebody: 6.body.message",
      "* list page by page: 4.body.message",
      "reviews: 1.body.*",
      "reviews: 3.body.*",
      "ephemeral containers that are refused: 8.body.*",
      "ephemeral containers that are refused: 10.body.*",
      "ephemeral containers that are refused: 11.body.*",
    ],
  },
  {
    why: "Who adds ephemeral containers owns those alone, not what else was in the request and has no effect",
    at: [
      "ephemeral containers: *.managedFields.1.fieldsV1.f:metadata",
      "ephemeral containers by replacement: *.managedFields.1.fieldsV1.f:spec.f:hostNetwork",
      "ephemeral containers by operations and by apply: *.managedFields.0.fieldsV1.f:metadata",
    ],
  },
  {
    why: "Options without a sensible meaning are refused: a negative limit or grace period, a watch that is neither true nor false",
    at: ["* list with bad questions: 1", "* list with bad questions: 7", "* delete on conditions: 6"],
  },
  {
    why: "Credentials of a kind that the server does not know are refused; kube-apiserver takes their bearer for anonymous",
    at: ["nobody and the wrong somebody: 1", "nobody and the wrong somebody: 2", "nobody and the wrong somebody: 3"],
  },
  {
    why: "An unknown path is answered with a Status; kube-apiserver answers some with plain text",
    at: ["paths that lead nowhere: *", "own kind: 9"],
  },
  {
    why: "A custom object is not created at its own path, and its parts have no parts",
    at: ["sandbox* ask in the wrong way: 5", "sandbox* ask in the wrong way: 7*"],
  },
  {
    why: "A definition is in force by the time its creation is answered",
    at: ["own kind: 0.body.status.*"],
  },
  {
    why: "Objects are written as JSON and YAML, not as protobuf, and a list that is none is not acceptable for any kind",
    at: ["* read metadata alone: 7.body.message", "* read metadata alone: 8.body.*", "sandbox* read metadata alone: 4"],
  },
  {
    why: "What cannot be read, or not be answered, is refused before its version is looked at: without a warning that it is old",
    at: [
      "* create from bad bodies: *.headers.warning",
      "* patch by merge: 8.headers.warning",
      "sandboxes alpha patch by operations: 9.headers.warning",
      "* delete on conditions: 9.headers.warning",
      "endpoints read metadata alone: 8.headers.warning",
    ],
  },
  {
    why: "What is wrong is reported once, where kube-apiserver checks the same rule several times, or rules that follow from it",
    at: [
      "* patch by merge: 6.body.details.causes",
      "namespaces create what is misnamed: 1.body.*",
      "newer events create what is misnamed: 4.body.*",
      "sandboxes create what is misnamed: 0.body.*",
      "sandboxwarmpools invalid *: 0.body.*",
      "kubectl create what is invalid: 2.stderr",
      "bad scale: 3.body.*",
      "bad kinds: 1.body.*",
    ],
  },
  {
    why: "A wrong type is named as schemas name it (integer, string), not as Go does (int64, date-time)",
    at: ["sandboxclaims invalid bad lifecycle: 0.body.*", "sandboxes invalid fraction as integer: 0.body.*"],
  },
  {
    why: "A bookmark carries its kind and its revision, not the empty fields of its kind",
    at: ["* watch from what is there: 2.body.1.object.*", "* watch from what is there: 4.body.1.object.*"],
  },
  {
    why: "Things go sooner: a Pod without grace in one change, not two; an empty namespace at once; the last page says that it is the last",
    at: [
      "pods watch: 6.body",
      "pods watch: 7.body",
      "namespaces watch: 6.body",
      "namespaces watch: 7.body",
      "namespaces delete what is held: *.body.spec.finalizers",
      "* list page by page: 3.body.metadata.continue",
    ],
  },
  {
    why: "No token of an account is put into a Pod unasked: a projected volume asks for one",
    at: ["a pod with an account: 2.body.spec.volumes", "a pod with an account: 2.body.spec.containers.0.volumeMounts"],
  },
  {
    why: "Impersonation is one right for every request; kube-apiserver has finer ones beside it",
    at: ["kubectl as a visitor: 6.stderr"],
  },
  {
    why: "The storage hash of CustomResourceDefinitions is that of the version they are stored in, not of an older one",
    at: ["discovery of apiextensions.k8s.io/v1: 0.body.resources.0.storageVersionHash"],
  },
  {
    why: "A Scale of a custom kind can be applied; kube-apiserver fails to (500)",
    at: ["scale by apply: 3"],
  },
];
