package process

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// account is who a process runs as.
type account struct {
	name, home string
	credential *syscall.Credential
}

// lookupAccount reads a name of /etc/passwd, "uid" or "uid:gid". (The standard library's os/user would do names, but
// not ids that no file knows, which are usual in containers.)
func lookupAccount(user string) (*account, error) {
	if user == "" {
		return nil, nil
	}
	uidText, gidText, hasGid := strings.Cut(user, ":")
	found := &account{name: user, home: "/", credential: &syscall.Credential{}}
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
		found.name, found.home = fields[0], fields[5]
		found.credential.Uid, found.credential.Gid = fileUID, fileGID
		return true
	})
	switch {
	case !known && !numeric:
		return nil, fmt.Errorf("no user %q in /etc/passwd", user)
	case !known:
		found.credential.Uid, found.credential.Gid = uid, uid
	}
	if hasGid {
		gid, ok := parseID(gidText)
		if !ok {
			return nil, fmt.Errorf("the group of %q is not a number", user)
		}
		found.credential.Gid = gid
	}
	found.credential.Groups = groupsOf(found.name)
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

// eachLine visits the colon-separated lines of a file until one is accepted. A file that is missing has none.
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
