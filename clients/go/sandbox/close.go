package sandbox

import (
	"context"
	"errors"
	"maps"
)

// Handle is what a program needs of a sandbox. *Sandbox implements it.
type Handle interface {
	Open(ctx context.Context) error
	Close(ctx context.Context) error
	Disconnect(ctx context.Context) error
	IsReady() bool
	Run(ctx context.Context, command string, options ...CallOption) (*ExecutionResult, error)
	Write(ctx context.Context, path string, content []byte, options ...CallOption) error
	Read(ctx context.Context, path string, options ...CallOption) ([]byte, error)
	List(ctx context.Context, path string, options ...CallOption) ([]FileEntry, error)
	Exists(ctx context.Context, path string, options ...CallOption) (bool, error)
}

// Info describes an open sandbox. *Sandbox implements it.
type Info interface {
	ClaimName() string
	SandboxName() string
	PodName() string
	PodIP() string
	Annotations() map[string]string
}

var (
	_ Handle = (*Sandbox)(nil)
	_ Info   = (*Sandbox)(nil)
)

var errClosing = errors.New("the handle is being closed")

// Close disconnects the handle and deletes its sandbox, except a sandbox from Get, which goes on. It can be repeated if it fails. It is not
// stopped by the end of the context.
func (s *Sandbox) Close(ctx context.Context) error {
	if !s.owned {
		return s.Disconnect(ctx)
	}
	ctx, cancel := limit(context.WithoutCancel(ctx), s.options.CleanupTimeout, "Cannot close the sandbox")
	defer cancel()
	key := s.key()
	err := s.shutDown(ctx, func() error {
		draining, stop := context.WithTimeout(ctx, s.options.CleanupTimeout/2)
		s.link.drain(draining)
		stop()
		key = s.key()
		if err := s.remove(ctx); err != nil {
			return err
		}
		s.setClaim("", "")
		s.setSandbox("", "")
		return nil
	})
	if err == nil {
		s.client.forget(key, s)
	}
	return describe(key, "close", err)
}

// Disconnect ends the connection and keeps the sandbox. Open connects again.
func (s *Sandbox) Disconnect(ctx context.Context) error {
	return describe(s.key(), "disconnect", s.shutDown(ctx, func() error { return nil }))
}

// shutDown ends a running Open and the connection.
func (s *Sandbox) shutDown(ctx context.Context, then func() error) error {
	s.mu.Lock()
	if s.stopOpen != nil {
		s.stopOpen(errClosing)
	}
	s.mu.Unlock()
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer func() { <-s.lifecycle }()
	s.mu.Lock()
	opened := s.connection
	s.connection = nil
	s.mu.Unlock()
	s.link.disconnect(nil)
	if opened != nil {
		opened.close()
	}
	return then()
}

// IsReady reports whether the handle is connected.
func (s *Sandbox) IsReady() bool { return s.connected() }

// ClaimName returns the name of the claim that holds the sandbox, or "".
func (s *Sandbox) ClaimName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claim
}

// SandboxName returns the name of the Sandbox, or "" before Open.
func (s *Sandbox) SandboxName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Name
}

// PodName returns the name of the Pod at the time of Open, or "" for a handle of Create or Get.
func (s *Sandbox) PodName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.podName
}

// PodIP returns the address of the Pod at the time of Open, or "" if it is not known.
func (s *Sandbox) PodIP() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.podIP
}

// Annotations returns those of the Sandbox at the time of Open.
func (s *Sandbox) Annotations() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.annotations)
}

func (s *Sandbox) forgetPodIP() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.podIP = ""
}

func (s *Sandbox) setClaim(name, uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claim, s.claimUID = name, uid
}

func (s *Sandbox) setSandbox(name, uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Name, s.UID = name, uid
}

func (s *Sandbox) key() Key {
	return Key{s.Namespace, s.ClaimName()}
}

// Run runs a command, as Commands().Run.
func (s *Sandbox) Run(ctx context.Context, command string, options ...CallOption) (*ExecutionResult, error) {
	return s.Commands().Run(ctx, command, options...)
}

// Write writes a file, as Files().Write.
func (s *Sandbox) Write(ctx context.Context, path string, content []byte, options ...CallOption) error {
	return s.Files().Write(ctx, path, content, options...)
}

// Read returns the content of a file, as Files().Read.
func (s *Sandbox) Read(ctx context.Context, path string, options ...CallOption) ([]byte, error) {
	return s.Files().Read(ctx, path, options...)
}

// List returns the entries of a directory, as Files().List.
func (s *Sandbox) List(ctx context.Context, path string, options ...CallOption) ([]FileEntry, error) {
	return s.Files().List(ctx, path, options...)
}

// Exists reports whether a file exists, as Files().Exists.
func (s *Sandbox) Exists(ctx context.Context, path string, options ...CallOption) (bool, error) {
	return s.Files().Exists(ctx, path, options...)
}

// Delete deletes a file, as Files().Delete. Terminate and Close delete the sandbox.
func (s *Sandbox) Delete(ctx context.Context, path string, recursive bool, options ...CallOption) error {
	return s.Files().Delete(ctx, path, recursive, options...)
}
