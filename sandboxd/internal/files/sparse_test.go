package files

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func openBoth(t *testing.T) (to, from *os.File) {
	t.Helper()
	for _, each := range []**os.File{&to, &from} {
		file, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		*each = file
	}
	return to, from
}

func wantCopy(t *testing.T, copied *os.File, want []byte) {
	t.Helper()
	got, err := os.ReadFile(copied.Name())
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the copy differs: %d bytes, %v", len(got), err)
	}
	var stat syscall.Stat_t
	if err := syscall.Stat(copied.Name(), &stat); err != nil || stat.Blocks*512 > 1<<20 {
		t.Errorf("the copy occupies %d bytes, %v", stat.Blocks*512, err)
	}
}

// The copy has holes, whether the file system reports holes of the source or not.
func TestSparseCopies(t *testing.T) {
	content := make([]byte, 8<<20+12345)
	for _, at := range []int{0, 3<<20 - 2, len(content) - 4} {
		copy(content[at:], "data")
	}
	for name, step := range map[string]int{"holes": pieceBytes, "zeros": len(content)} {
		t.Run(name, func(t *testing.T) {
			to, from := openBoth(t)
			for at := 0; at < len(content); at += step {
				piece := content[at:min(at+step, len(content))]
				if bytes.Equal(piece, zeros[:min(len(piece), len(zeros))]) {
					continue
				}
				if _, err := from.WriteAt(piece, int64(at)); err != nil {
					t.Fatal(err)
				}
			}
			if err := copySparse(to, from); err != nil {
				t.Fatal(err)
			}
			wantCopy(t, to, content)
		})
	}
	to, from := openBoth(t)
	if n, err := copyNonZero(to, from, 1<<20, make([]byte, 10)); n != 0 || err != nil {
		t.Errorf("beyond the end of a file are %d bytes, %v", n, err)
	}
}
