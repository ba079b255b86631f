package process

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
)

var userName = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)

// IsUserName reports whether a user can have this name.
func IsUserName(name string) bool { return userName.MatchString(name) }

const (
	firstUserID = 1000
	lastUserID  = 59_999
)

// EnsureUser creates a user with a group and a home, as useradd does, unless /etc/passwd has one of that name. Images without the
// programs for that can be used too.
func EnsureUser(name string) error {
	taken := map[string]bool{}
	known := eachLine("/etc/passwd", func(fields []string) bool {
		if len(fields) > 2 {
			taken[fields[2]] = true
		}
		return fields[0] == name
	})
	if known {
		return nil
	}
	eachLine("/etc/group", func(fields []string) bool {
		if len(fields) > 2 {
			taken[fields[2]] = true
		}
		return false
	})
	id := firstUserID
	for taken[strconv.Itoa(id)] {
		if id++; id > lastUserID {
			return fmt.Errorf("no user id is free")
		}
	}
	home := "/home/" + name
	if err := appendLine("/etc/group", fmt.Sprintf("%s:x:%d:\n", name, id)); err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	if err := os.Chown(home, id, id); err != nil {
		return err
	}
	shell := "/bin/sh"
	if _, err := os.Stat("/bin/bash"); err == nil {
		shell = "/bin/bash"
	}
	// The last step: a daemon that is killed before it does all of them again.
	return appendLine("/etc/passwd", fmt.Sprintf("%s:x:%d:%d::%s:%s\n", name, id, id, home, shell))
}

// appendLine appends a line, after the end of a last line that has none.
func appendLine(file, line string) error {
	content, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if len(content) > 0 && content[len(content)-1] != '\n' {
		line = "\n" + line
	}
	opened, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if _, err := opened.WriteString(line); err != nil {
		opened.Close()
		return err
	}
	return opened.Close()
}
