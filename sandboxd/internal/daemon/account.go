package daemon

import (
	"cmp"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

// needed are the capabilities to start processes as another user, to change the owner of files and to kill processes.
const needed = 1<<unix.CAP_CHOWN | 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID

// account returns the user that code runs as, or nil for the daemon's own user. It is checked at the start, so that a
// wrong configuration does not only show when processes fail to start.
func (c *Config) account() (*process.Account, error) {
	if c.EnsureUser != "" {
		if err := process.EnsureUser(c.EnsureUser); err != nil {
			return nil, fmt.Errorf("cannot create the user %q: %w", c.EnsureUser, err)
		}
		c.User = cmp.Or(c.User, c.EnsureUser)
	}
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
