package sandbox

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Sandbox is a sandbox: run commands and code in it, transfer files, suspend and resume it. Handles of Create and Get are connected.
// Those of New are connected by Open.
type Sandbox struct {
	handle
	// Name is empty until Open has created the sandbox.
	Name, Namespace string
	// UID of the Sandbox object, if it is known.
	UID string

	client  *Client
	options Options
	// owned sandboxes are deleted by Close.
	owned bool
	// lifecycle is held by Open, Close and Disconnect.
	lifecycle chan struct{}

	mu              sync.Mutex
	claim, claimUID string
	stopOpen        context.CancelCauseFunc
	connection      *connection
	podName, podIP  string
	annotations     map[string]string

	codeMu sync.Mutex
	code   *CodeContext
}

// Phase is the state of a sandbox.
type Phase string

// The phases.
const (
	PhaseReady     Phase = "Ready"
	PhaseSuspended Phase = "Suspended"
	PhaseStarting  Phase = "Starting"
	PhaseFailed    Phase = "Failed"
)

// Status of a sandbox.
type Status struct {
	Phase Phase
	// Reason and Message say why the sandbox is not ready.
	Reason, Message string
	Addresses       []string
	// ExpiresAt is zero if the sandbox does not expire.
	ExpiresAt  time.Time
	Suspension Suspension
}

// Suspension is what the last suspension kept, and what the last resume restored.
type Suspension struct {
	Depth     Depth  `json:"depth"`
	Time      string `json:"time"`
	SizeBytes int64  `json:"sizeBytes"`
	Epoch     int64  `json:"epoch"`
	Restored  Depth  `json:"restored"`
}

// Commands runs programs in the sandbox.
func (s *Sandbox) Commands() *Commands { return &Commands{s.handle} }

// Files reads and writes files in the sandbox.
func (s *Sandbox) Files() *Files { return &Files{s.handle} }

// Status returns the state of the sandbox.
func (s *Sandbox) Status(ctx context.Context) (_ Status, err error) {
	ctx, end := s.tracing.start(ctx, "status")
	defer func() { end(err) }()
	ctx, cancel := limit(ctx, defaultTimeout, fmt.Sprintf("Cannot get sandbox %q", s.Name))
	defer cancel()
	found, err := s.client.api.get(ctx, sandboxes, s.Namespace, s.Name)
	if err != nil {
		return Status{}, err
	}
	return statusOf(found), nil
}

func statusOf(found *object) Status {
	status := Status{Addresses: found.Status.PodIPs, Suspension: found.Status.Suspension}
	if text, ok := found.Spec["shutdownTime"].(string); ok {
		status.ExpiresAt, _ = time.Parse(time.RFC3339, text)
	}
	ready, _ := found.current("Ready")
	switch verdict := isReady(found); {
	case found.Spec["operatingMode"] == "Suspended":
		status.Phase = PhaseSuspended
	case verdict.done:
		status.Phase = PhaseReady
	case verdict.failed != "":
		status.Phase, status.Reason, status.Message = PhaseFailed, ready.Reason, ready.Message
	default:
		status.Phase, status.Reason, status.Message = PhaseStarting, ready.Reason, ready.Message
	}
	return status
}

// WaitUntilReady waits until the sandbox can be used. It fails at once if it never will. Default timeout: three minutes.
func (s *Sandbox) WaitUntilReady(ctx context.Context) (err error) {
	ctx, end := s.tracing.start(ctx, "wait_until_ready")
	defer func() { end(err) }()
	doing := fmt.Sprintf("Cannot wait for sandbox %q", s.Name)
	ctx, cancel := limit(ctx, lifecycleTimeout, doing)
	defer cancel()
	found, err := s.client.api.get(ctx, sandboxes, s.Namespace, s.Name)
	if err != nil {
		return err
	}
	_, err = s.client.wait(ctx, sandboxes, found, doing, isReady)
	return err
}

// Suspend suspends the sandbox and waits until it sleeps. What it keeps depends on its suspendPolicy.
func (s *Sandbox) Suspend(ctx context.Context) (Suspension, error) {
	return s.setMode(ctx, "suspend", "Suspended", isSuspended)
}

// Resume resumes the sandbox and waits until it can be used.
func (s *Sandbox) Resume(ctx context.Context) (Suspension, error) {
	return s.setMode(ctx, "resume", "Running", isReady)
}

func (s *Sandbox) setMode(ctx context.Context, verb, mode string, judge func(*object) verdict) (_ Suspension, err error) {
	ctx, end := s.tracing.start(ctx, verb)
	defer func() { end(err) }()
	doing := fmt.Sprintf("Cannot %s sandbox %q", verb, s.Name)
	ctx, cancel := limit(ctx, lifecycleTimeout, doing)
	defer cancel()
	patch := map[string]any{"spec": map[string]any{"operatingMode": mode}}
	from, err := s.client.api.patch(ctx, sandboxes, s.Namespace, s.Name, patch)
	if err != nil {
		return Suspension{}, err
	}
	done, err := s.client.wait(ctx, sandboxes, from, doing, judge)
	if err != nil {
		return Suspension{}, err
	}
	return done.Status.Suspension, nil
}

// Snapshot is the saved state of a sandbox.
type Snapshot struct {
	Name      string
	Depth     Depth
	SizeBytes int64
	// Pause is how long the sandbox stood still.
	Pause time.Duration
}

// Snapshot saves the state of the sandbox, which goes on. Without a name, one is chosen.
func (s *Sandbox) Snapshot(ctx context.Context, name string) (_ *Snapshot, err error) {
	ctx, end := s.tracing.start(ctx, "snapshot")
	defer func() { end(err) }()
	doing := fmt.Sprintf("Cannot take a snapshot of sandbox %q", s.Name)
	ctx, cancel := limit(ctx, lifecycleTimeout, doing)
	defer cancel()
	name = firstOf(name, s.Name+"-"+strings.ToLower(newRequestID()[:8]))
	annotations := map[string]string{requestIDAnnotation: newRequestID()}
	spec := map[string]any{"sandboxRef": map[string]any{"name": s.Name}}
	from, err := s.client.createOnce(ctx, snapshots, &object{Metadata: metadata{Name: name, Namespace: s.Namespace, Annotations: annotations}, Spec: spec})
	if err != nil {
		return nil, err
	}
	done, err := s.client.wait(ctx, snapshots, from, doing, isTaken)
	if err != nil {
		return nil, err
	}
	status := done.Status
	return &Snapshot{Name: name, Depth: status.Depth, SizeBytes: status.SizeBytes, Pause: time.Duration(status.PauseMilliseconds) * time.Millisecond}, nil
}

// Extend deletes the sandbox after this time from now, instead of at its present time.
func (s *Sandbox) Extend(ctx context.Context, lifetime time.Duration) (_ time.Time, err error) {
	ctx, end := s.tracing.start(ctx, "extend")
	defer func() { end(err) }()
	ctx, cancel := limit(ctx, defaultTimeout, fmt.Sprintf("Cannot extend sandbox %q", s.Name))
	defer cancel()
	expires := time.Now().Add(lifetime).UTC().Truncate(time.Second)
	shutdown := map[string]any{"shutdownTime": expires.Format(time.RFC3339), "shutdownPolicy": "Delete"}
	k, name, spec := sandboxes, s.Name, shutdown
	if claim := s.ClaimName(); claim != "" {
		k, name, spec = claims, claim, map[string]any{"lifecycle": shutdown}
	}
	_, err = s.client.api.patch(ctx, k, s.Namespace, name, map[string]any{"spec": spec})
	return expires, err
}

// Terminate deletes the sandbox and everything in it, whoever created it. It succeeds if the sandbox is already gone.
func (s *Sandbox) Terminate(ctx context.Context) error {
	ctx, cancel := limit(ctx, defaultTimeout, fmt.Sprintf("Cannot delete sandbox %q", s.Name))
	defer cancel()
	ctx, end := s.tracing.start(ctx, "terminate")
	err := s.remove(ctx)
	end(err)
	return err
}

func (s *Sandbox) remove(ctx context.Context) error {
	s.mu.Lock()
	claim, uid := s.claim, s.claimUID
	s.mu.Unlock()
	switch {
	case claim != "":
		return s.client.api.delete(ctx, claims, s.Namespace, claim, uid)
	case s.Name != "":
		return s.client.api.delete(ctx, sandboxes, s.Namespace, s.Name, s.UID)
	}
	return nil
}
