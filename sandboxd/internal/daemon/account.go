package daemon

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

// needed lets the daemon start processes as another user, give them their files, and end them.
const needed = 1<<unix.CAP_CHOWN | 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID

// account is who user code runs as; nil for the daemon's own user. Found out at the start: a sandbox whose every process
// would fail is better not there.
func (c *Config) account() (*process.Account, error) {
	who, err := process.LookupAccount(c.User)
	if who == nil && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot run processes as %q: %w", c.User, err)
	}
	if int(who.Credential.Uid) != os.Geteuid() && effectiveCapabilities()&needed != needed {
		return nil, fmt.Errorf("cannot run processes as %q: user %d may not become another one; start as root, with the capabilities CHOWN, KILL, SETGID and SETUID", c.User, os.Geteuid())
	}
	return who, nil
}

func effectiveCapabilities() uint32 {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return 0
	}
	return data[0].Effective
}
