//go:build tools

// Package runc pins the runc that the box is built with.
package runc

import _ "github.com/opencontainers/runc"
