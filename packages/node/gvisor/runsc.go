//go:build tools

// Package gvisor pins the gVisor that the box is built with.
package gvisor

import _ "gvisor.dev/gvisor/runsc"
