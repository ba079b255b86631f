package process

import (
	"os"
	"testing"
)

func TestLookupAccount(t *testing.T) {
	if _, err := os.Stat("/etc/passwd"); err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]struct {
		uid, gid uint32
		name     string
	}{
		"root": {0, 0, "root"}, "0": {0, 0, "root"}, "root:7": {0, 7, "root"}, "54321": {54321, 54321, "54321"}, "54321:1": {54321, 1, "54321:1"},
	} {
		got, err := LookupAccount(user)
		if err != nil || got.Credential.Uid != want.uid || got.Credential.Gid != want.gid || got.Name != want.name {
			t.Errorf("%q is %+v, %v", user, got, err)
		}
	}
	if got, err := LookupAccount(""); got != nil || err != nil {
		t.Errorf("no user is %v, %v", got, err)
	}
	for _, user := range []string{"no such user", "-1", "root:x", "99999999999", ":"} {
		if got, err := LookupAccount(user); err == nil {
			t.Errorf("%q is %+v", user, got)
		}
	}
}
