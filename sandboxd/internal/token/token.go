// Package token checks the token of requests, and that they are meant for this sandbox.
package token

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// minBytes makes tokens hard to guess. The controller generates 43 characters.
	minBytes = 16
	maxBytes = 4096
	// recheck is how often the file is checked. A new token is accepted at most this long after it was written.
	recheck = time.Second
)

// Header is the header with the token. Unlike Authorization, it does not collide with credentials for the workload.
const Header = "X-Sandbox-Token"

// Guard accepts requests with the token in a file. The file is read again when it changes.
type Guard struct {
	file string

	mu     sync.Mutex
	looked time.Time
	seen   os.FileInfo
	digest [sha256.Size]byte
}

// Open reads the token. It fails if there is no valid token.
func Open(file string) (*Guard, error) {
	g := &Guard{file: file}
	if err := g.read(); err != nil {
		return nil, err
	}
	g.looked = time.Now()
	return g, nil
}

func (g *Guard) read() error {
	opened, err := os.Open(g.file)
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("cannot read the sandbox token as user %d: %w; set securityContext.runAsUser to %[1]d, so that the token is readable for that user", os.Geteuid(), err)
	}
	if err != nil {
		return fmt.Errorf("cannot read the sandbox token: %w", err)
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return fmt.Errorf("cannot read the sandbox token: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(opened, maxBytes+1))
	if err != nil {
		return fmt.Errorf("cannot read the sandbox token: %w", err)
	}
	text := strings.TrimRight(string(content), "\r\n")
	if len(text) < minBytes || len(content) > maxBytes {
		return fmt.Errorf("cannot use the sandbox token in %q: it must have %d to %d characters", g.file, minBytes, maxBytes)
	}
	g.seen, g.digest = info, sha256.Sum256([]byte(text))
	return nil
}

// Check returns nil for a request with the token, and a Refusal otherwise. A nil guard accepts everything.
func (g *Guard) Check(header http.Header) error {
	if g == nil {
		return nil
	}
	given := credential(header)
	if given == "" {
		return Refusal("Cannot enter the sandbox: the request carries no token")
	}
	digest, want := sha256.Sum256([]byte(given)), g.current()
	if subtle.ConstantTimeCompare(digest[:], want[:]) != 1 {
		return Refusal("Cannot enter the sandbox: the token is not the one of this sandbox")
	}
	return nil
}

// credential prefers our own header, because a router may also forward the client's Authorization header.
func credential(header http.Header) string {
	if own := header.Get(Header); own != "" {
		return own
	}
	scheme, value, _ := strings.Cut(header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return value
	}
	return ""
}

// Refresh reads the token at once. If that fails, the old token stays valid. A nil guard has no token.
func (g *Guard) Refresh() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looked = time.Now()
	return g.read()
}

// Revoke refuses all tokens until the file has a valid one again.
func (g *Guard) Revoke() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// No token has this digest that anybody could know.
	g.seen, g.digest = nil, [sha256.Size]byte{}
}

func (g *Guard) current() [sha256.Size]byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.Sub(g.looked) >= recheck {
		g.looked = now
		info, err := os.Stat(g.file)
		if err == nil && (!os.SameFile(info, g.seen) || info.ModTime() != g.seen.ModTime() || info.Size() != g.seen.Size()) {
			// If the new file is not valid, the old token stays valid.
			_ = g.read()
		}
	}
	return g.digest
}
