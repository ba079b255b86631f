// Package environment reads the file in which the node describes the sandbox: its identity and its epoch.
package environment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/token"
)

// maxBytes is far more than two names, a UID and a number need.
const maxBytes = 16 << 10

// Environment describes the sandbox.
type Environment struct {
	token.Identity
	// Epoch counts the times that the sandbox continued from saved memory: resumptions, forks and rollbacks.
	Epoch int64
}

// Variables returns the environment as the variables in the file.
func (e Environment) Variables() map[string]string {
	return map[string]string{
		"SANDBOX_NAME": e.Name, "SANDBOX_NAMESPACE": e.Namespace, "SANDBOX_UID": e.UID,
		"SANDBOX_EPOCH": strconv.FormatInt(e.Epoch, 10),
	}
}

// Source knows the environment that the daemon serves. The file is written by the node, before it restores the sandbox.
type Source struct {
	file string

	mu      sync.Mutex
	current Environment
}

// Open reads the file. Without a file the identity stays as it is given and the epoch is 0.
func Open(file string, identity token.Identity) (*Source, error) {
	s := &Source{file: file, current: Environment{Identity: identity}}
	_, _, err := s.Refresh()
	return s, err
}

// Current returns the environment as it was last refreshed.
func (s *Source) Current() Environment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// Identity returns the current identity.
func (s *Source) Identity() token.Identity { return s.Current().Identity }

// Read returns the environment in the file, or the current one if the file cannot be used.
func (s *Source) Read() Environment {
	current := s.Current()
	if found, err := read(s.file, current); err == nil {
		return found
	}
	return current
}

// Refresh makes the environment in the file the current one. It returns the environments before and after.
func (s *Source) Refresh() (before, after Environment, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.current
	if after, err = read(s.file, before); err == nil {
		s.current = after
	}
	return before, s.current, err
}

// read returns the environment in a file. Variables that are missing or empty keep their value, so that a request for
// another sandbox is still refused. All do if there is no file.
func read(file string, known Environment) (Environment, error) {
	opened, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return known, fmt.Errorf("cannot read the environment: %w", err)
	}
	defer opened.Close()
	content, err := io.ReadAll(io.LimitReader(opened, maxBytes+1))
	if err != nil {
		return known, fmt.Errorf("cannot read the environment: %w", err)
	}
	if len(content) > maxBytes {
		return known, fmt.Errorf("cannot use the environment in %q: it has more than %d bytes", file, maxBytes)
	}
	return parse(string(content), known)
}

func parse(content string, known Environment) (Environment, error) {
	parsed := known
	for line := range strings.Lines(content) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		if value == "" {
			continue
		}
		switch name {
		case "SANDBOX_NAME":
			parsed.Name = value
		case "SANDBOX_NAMESPACE":
			parsed.Namespace = value
		case "SANDBOX_UID":
			parsed.UID = value
		case "SANDBOX_EPOCH":
			epoch, err := strconv.ParseInt(value, 10, 64)
			if err != nil || epoch < 0 {
				return known, fmt.Errorf("cannot use SANDBOX_EPOCH=%q: want a number of at least 0", value)
			}
			parsed.Epoch = epoch
		}
	}
	return parsed, nil
}
