package process

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Account is the user that a process runs as.
type Account struct {
	Name, Home string
	Credential syscall.Credential
}

// Assume makes a process that is about to be started run as the account. It does nothing if that is the current user, who
// may lack the right to set user ids.
func (a *Account) Assume(attr *syscall.SysProcAttr) {
	if int(a.Credential.Uid) != os.Geteuid() || int(a.Credential.Gid) != os.Getegid() {
		attr.Credential = &a.Credential
	}
}

// Variables returns the environment variables of the account, such as HOME.
func (a *Account) Variables() map[string]string {
	return map[string]string{"HOME": a.Home, "USER": a.Name, "LOGNAME": a.Name}
}

// LookupAccount finds a user by a name in /etc/passwd, by "uid" or by "uid:gid". Unlike os/user, it accepts ids that are
// not in /etc/passwd, which are common in containers.
func LookupAccount(user string) (*Account, error) {
	if user == "" {
		return nil, nil
	}
	uidText, gidText, hasGid := strings.Cut(user, ":")
	found := &Account{Name: user, Home: "/"}
	uid, numeric := parseID(uidText)
	known := eachLine("/etc/passwd", func(fields []string) bool {
		if len(fields) < 6 || (fields[0] != uidText && fields[2] != uidText) {
			return false
		}
		fileUID, ok1 := parseID(fields[2])
		fileGID, ok2 := parseID(fields[3])
		if !ok1 || !ok2 {
			return false
		}
		found.Name, found.Home = fields[0], fields[5]
		found.Credential.Uid, found.Credential.Gid = fileUID, fileGID
		return true
	})
	switch {
	case !known && !numeric:
		return nil, fmt.Errorf("no user %q in /etc/passwd", user)
	case !known:
		found.Credential.Uid, found.Credential.Gid = uid, uid
		if int(uid) == os.Geteuid() {
			found.Credential.Gid = uint32(os.Getegid())
		}
	}
	if hasGid {
		gid, ok := parseID(gidText)
		if !ok {
			return nil, fmt.Errorf("the group of %q is not a number", user)
		}
		found.Credential.Gid = gid
	}
	found.Credential.Groups = groupsOf(found.Name)
	return found, nil
}

func groupsOf(name string) []uint32 {
	var groups []uint32
	eachLine("/etc/group", func(fields []string) bool {
		if len(fields) < 4 {
			return false
		}
		for member := range strings.SplitSeq(fields[3], ",") {
			if id, ok := parseID(fields[2]); ok && member == name {
				groups = append(groups, id)
			}
		}
		return false
	})
	return groups
}

func parseID(text string) (uint32, bool) {
	id, err := strconv.ParseUint(text, 10, 31)
	return uint32(id), err == nil
}

// eachLine calls accept for the colon-separated lines of a file until it returns true. A missing file has no lines.
func eachLine(file string, accept func(fields []string) bool) bool {
	opened, err := os.Open(file)
	if err != nil {
		return false
	}
	defer opened.Close()
	lines := bufio.NewScanner(opened)
	for lines.Scan() {
		if accept(strings.Split(lines.Text(), ":")) {
			return true
		}
	}
	return false
}
