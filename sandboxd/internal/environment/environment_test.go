package environment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/token"
)

var given = token.Identity{Name: "given", Namespace: "here", UID: "1"}

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "environment")
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheFile(t *testing.T) {
	for name, row := range map[string]struct {
		content string
		want    Environment
	}{
		"is complete":         {"SANDBOX_NAME=web\nSANDBOX_NAMESPACE=there\nSANDBOX_UID=2\nSANDBOX_EPOCH=7\n", Environment{token.Identity{Name: "web", Namespace: "there", UID: "2"}, 7}},
		"lacks variables":     {"SANDBOX_EPOCH=3", Environment{given, 3}},
		"is empty":            {"", Environment{given, 0}},
		"has empty values":    {"SANDBOX_NAME=\nSANDBOX_UID=\nSANDBOX_EPOCH=\n", Environment{given, 0}},
		"has other variables": {"\n=\nHOME=/\nSANDBOX_UID=a=b\r\n", Environment{token.Identity{Name: "given", Namespace: "here", UID: "a=b"}, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			source, err := Open(write(t, row.content), given)
			if err != nil || source.Current() != row.want {
				t.Errorf("got %+v, %v", source.Current(), err)
			}
		})
	}
}

func TestAnInvalidFile(t *testing.T) {
	for name, content := range map[string]string{
		"a negative epoch":      "SANDBOX_NAME=web\nSANDBOX_EPOCH=-1",
		"an epoch in words":     "SANDBOX_EPOCH=seven",
		"an epoch out of range": "SANDBOX_EPOCH=99999999999999999999",
		"too much":              strings.Repeat("x", maxBytes+1),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(write(t, content), given); err == nil {
				t.Error("got no error")
			}
		})
	}
	if _, err := Open(t.TempDir(), given); err == nil {
		t.Error("a directory gives no error")
	}
}

func TestARefresh(t *testing.T) {
	file := filepath.Join(t.TempDir(), "environment")
	source, err := Open(file, given)
	if err != nil || source.Current() != (Environment{given, 0}) {
		t.Fatalf("without a file: %+v, %v", source.Current(), err)
	}
	_ = os.WriteFile(file, []byte("SANDBOX_NAME=fork\nSANDBOX_EPOCH=1\n"), 0o644)
	if read := source.Read(); read.Name != "fork" || source.Identity() != given {
		t.Errorf("reading gives %+v, and then the current one is %+v", read, source.Identity())
	}
	before, after, err := source.Refresh()
	if err != nil || before.Name != "given" || after.Name != "fork" || after.Epoch != 1 || source.Current() != after {
		t.Errorf("got %+v, %+v, %v", before, after, err)
	}
	_ = os.WriteFile(file, []byte("SANDBOX_EPOCH=x"), 0o644)
	if _, kept, err := source.Refresh(); err == nil || kept != after || source.Read() != after {
		t.Errorf("an invalid file gives %+v, %v", kept, err)
	}
}
