package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// refreshMachineID gives a fork its own id in each file that exists. Programs use the id to tell machines apart. It is
// derived from the UID, so that a repeated refresh gives the same id.
func refreshMachineID(files []string, uid string) []error {
	digest := sha256.Sum256([]byte("machine-id:" + uid))
	id := hex.EncodeToString(digest[:16]) + "\n"
	var failures []error
	for _, file := range files {
		if err := replaceContent(file, id); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failures = append(failures, fmt.Errorf("cannot refresh the machine id: %w", err))
		}
	}
	return failures
}

// replaceContent writes to the existing file: a bind mount cannot be replaced by renaming. A link is left alone, since
// code in the sandbox chooses its target; the usual one leads to the first file.
func replaceContent(file, content string) error {
	opened, err := os.OpenFile(file, os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		// An empty file belongs to an image that gets its id at boot.
		return err
	}
	if _, err := opened.WriteString(content); err != nil {
		return err
	}
	return opened.Truncate(int64(len(content)))
}
