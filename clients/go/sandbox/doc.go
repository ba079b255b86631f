// Package sandbox creates sandboxes on a box or a cluster, runs commands and code in them, and transfers files.
//
// Connect returns a client that reaches sandboxes through the router, with the credential of the kubeconfig. NewClient and New have the
// interface of the Go client of the Kubernetes Agent Sandbox project: their handles are opened and closed, and by default use the API of
// its first runtime through a port-forward. The types are the same, so every handle has all methods.
package sandbox
