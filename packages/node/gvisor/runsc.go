// Command runsc is gVisor's runsc, of the version that go.mod pins.
package main

import (
	"gvisor.dev/gvisor/runsc/cli/maincli"
	"gvisor.dev/gvisor/runsc/version"
)

// The linker sets the version, so it must be part of the program.
var _ = version.Version()

func main() {
	keepCPUID()
	maincli.Main()
}
