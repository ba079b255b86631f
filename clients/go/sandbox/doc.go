// Package sandbox creates sandboxes on a box or a cluster, runs commands and code in them, and transfers files.
package sandbox
