package files

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

func FuzzContentRange(f *testing.F) {
	for _, seed := range []string{"bytes 0-1/*", "bytes 5-3/9", "bytes -1-2/*", "bytes 999999999999999999-999999999999999999/*", "items 0-1/2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		offset, length, given, err := contentRange(header)
		if err == nil && given && (offset < 0 || length <= 0 || offset+length < 0) {
			t.Errorf("%q is %d bytes at %d", header, length, offset)
		}
	})
}

// No archive can create files outside of the target directory.
func FuzzUnpack(f *testing.F) {
	seed := func(headers ...tar.Header) {
		var body bytes.Buffer
		writer := tar.NewWriter(&body)
		for _, header := range headers {
			_ = writer.WriteHeader(&header)
		}
		writer.Close()
		f.Add(body.Bytes())
	}
	seed(tar.Header{Name: "a/b", Typeflag: tar.TypeReg}, tar.Header{Name: "d/", Typeflag: tar.TypeDir})
	seed(tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, tar.Header{Name: "l/x", Typeflag: tar.TypeReg})
	seed(tar.Header{Name: "../x", Typeflag: tar.TypeReg}, tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "../y"})
	base := f.TempDir()
	outside := filepath.Join(base, "outside")
	if err := os.WriteFile(outside, []byte("x"), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		dir := filepath.Join(base, "in")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		root, err := confine.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		_ = readArchive(bytes.NewReader(archive), root)
		var names []string
		entries, _ := os.ReadDir(base)
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		content, _ := os.ReadFile(outside)
		if strings.Join(names, " ") != "in outside" || string(content) != "x" {
			t.Errorf("outside are %v and %q", names, content)
		}
	})
}
