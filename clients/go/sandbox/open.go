package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
)

// New returns a handle that is not connected. Open takes a sandbox from the pool of the options. It sends nothing yet.
func New(ctx context.Context, options Options) (*Sandbox, error) {
	client, err := NewClient(ctx, options)
	if err != nil {
		return nil, err
	}
	return client.newHandle(client.options)
}

// newHandle returns a handle with the rules of the reference.
func (c *Client) newHandle(options Options) (*Sandbox, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	s := &Sandbox{client: c, options: options, owned: true, Namespace: options.Namespace, lifecycle: make(chan struct{}, 1)}
	s.handle = handle{newLink(c.tracing, &referenceRules{
		legacy: options.Runtime == RuntimeLegacyPython, serverPort: options.ServerPort,
		restOnly:       options.Runtime == RuntimeSandboxd && options.APIURL != "" && c.router == nil,
		requestTimeout: options.RequestTimeout, perAttemptTimeout: options.PerAttemptTimeout,
		maxDownload: options.MaxDownloadSize, maxUpload: options.MaxUploadSize,
		podIP: s.PodIP, forgetPodIP: s.forgetPodIP,
	})}
	return s, nil
}

// Open connects the handle. The first time it creates a claim and waits until its sandbox can be used; if that fails, the claim is
// deleted again. After Disconnect it connects to the same sandbox.
func (s *Sandbox) Open(ctx context.Context) error {
	ctx, done, err := s.opening(ctx)
	if err != nil {
		return err
	}
	defer done()
	switch {
	case s.connected():
		err = ErrAlreadyOpen
	case s.ClaimName() == "" && s.Name == "":
		err = s.create(ctx)
	case s.Name == "":
		err = ErrOrphanedClaim
	default:
		err = s.reconnect(ctx)
	}
	return describe(s.key(), "open", err)
}

// opening begins an Open that Close and Disconnect can cancel.
func (s *Sandbox) opening(ctx context.Context) (context.Context, func(), error) {
	if err := s.acquire(ctx); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	s.stopOpen = cancel
	s.mu.Unlock()
	return ctx, func() {
		s.mu.Lock()
		s.stopOpen = nil
		s.mu.Unlock()
		cancel(nil)
		<-s.lifecycle
	}, nil
}

func (s *Sandbox) acquire(ctx context.Context) error {
	select {
	case s.lifecycle <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Sandbox) create(ctx context.Context) (err error) {
	o := s.options
	if o.WarmPoolName == "" {
		return failf(InvalidArgument, "Cannot open a sandbox without the option WarmPoolName")
	}
	wanted := s.claimFor(ctx, time.Now())
	doing := fmt.Sprintf("Cannot create a sandbox of pool %q", o.WarmPoolName)
	waiting, cancel := limit(ctx, o.SandboxReadyTimeout, doing)
	defer cancel()
	created, err := traced(s.tracing, waiting, "create_claim", wanted.Metadata.Name, func(ctx context.Context) (*object, error) {
		return s.client.createOnce(ctx, claims, wanted)
	})
	if err != nil {
		return errors.Join(ErrClaimFailed, err)
	}
	s.setClaim(created.Metadata.Name, created.Metadata.UID)
	defer func() {
		if err != nil {
			s.abandon(ctx)
		}
	}()
	ready, err := traced(s.tracing, waiting, "wait_for_sandbox_ready", wanted.Metadata.Name, func(ctx context.Context) (*object, error) {
		return s.client.wait(ctx, claims, created, doing, isClaimed)
	})
	if err != nil {
		return becauseOf(err)
	}
	found, err := s.client.api.get(waiting, sandboxes, s.Namespace, ready.Status.Sandbox.Name)
	if err != nil {
		return becauseOf(err)
	}
	if err := s.connect(ctx, found); err != nil {
		return err
	}
	s.setSandbox(found.Metadata.Name, "")
	s.client.log.Info("sandbox is ready", "namespace", s.Namespace, "claim", created.Metadata.Name, "sandbox", s.Name)
	return nil
}

func (s *Sandbox) claimFor(ctx context.Context, now time.Time) *object {
	o := s.options
	wanted := CreateOptions{
		Name: "sandbox-claim-" + strings.ToLower(newRequestID()[:8]), Namespace: s.Namespace, Labels: o.Labels, Env: o.Env, Lifetime: o.Lifetime,
		RequestID: newRequestID(),
	}.claim(o.WarmPoolName, now)
	pod := map[string]any{}
	if o.PodLabels != nil {
		pod["labels"] = o.PodLabels
	}
	if o.PodAnnotations != nil {
		pod["annotations"] = o.PodAnnotations
	}
	if len(pod) > 0 {
		wanted.Spec["additionalPodMetadata"] = pod
	}
	if o.VolumeClaimTemplates != nil {
		wanted.Spec["volumeClaimTemplates"] = o.VolumeClaimTemplates
	}
	if text := s.tracing.annotation(ctx); text != "" {
		wanted.Metadata.Annotations[traceAnnotation] = text
	}
	return wanted
}

// becauseOf adds the reference's error for a sandbox that did not become ready.
func becauseOf(err error) error {
	switch ReasonOf(err) {
	case NotFound:
		return errors.Join(ErrSandboxDeleted, err)
	case Failed:
		return errors.Join(ErrClaimFailed, err)
	}
	return err
}

// abandon deletes the claim of a failed Open. The name is kept if that fails, so that Close can delete it.
func (s *Sandbox) abandon(ctx context.Context) {
	cleaning, cancel := limit(context.WithoutCancel(ctx), s.options.CleanupTimeout, "Cannot clean up")
	defer cancel()
	if err := s.remove(cleaning); err != nil {
		s.client.log.Error(err, "cannot delete the claim of a sandbox that could not be opened", "namespace", s.Namespace, "claim", s.ClaimName())
		return
	}
	s.setClaim("", "")
}

// resolve finds the sandbox of a claim.
func (s *Sandbox) resolve(ctx context.Context, claim string) error {
	doing := fmt.Sprintf("Cannot find the sandbox of claim %q", claim)
	ctx, cancel := limit(ctx, s.options.SandboxReadyTimeout, doing)
	defer cancel()
	found, err := traced(s.tracing, ctx, "resolve_sandbox_name", claim, func(ctx context.Context) (*object, error) {
		from, err := s.client.api.get(ctx, claims, s.Namespace, claim)
		if err != nil {
			return nil, err
		}
		return s.client.wait(ctx, claims, from, doing, hasName)
	})
	if err != nil {
		return describe(Key{s.Namespace, claim}, "get", becauseOf(err))
	}
	s.setClaim(found.Metadata.Name, found.Metadata.UID)
	s.setSandbox(found.Status.Sandbox.Name, "")
	return nil
}

func hasName(o *object) verdict {
	if o.Status.Sandbox.Name != "" {
		return verdict{done: true}
	}
	return judgeReady(o, false)
}

// reconnect connects to a sandbox that exists.
func (s *Sandbox) reconnect(ctx context.Context) (err error) {
	ctx, end := s.tracing.start(ctx, "reconnect")
	defer func() { end(err) }()
	verifying, cancel := limit(ctx, s.options.SandboxReadyTimeout, "Cannot verify the sandbox")
	defer cancel()
	if claim := s.ClaimName(); claim != "" {
		found, err := s.client.api.get(verifying, claims, s.Namespace, claim)
		if IsReason(err, NotFound) || err == nil && s.claimUID != "" && found.Metadata.UID != s.claimUID {
			s.setClaim("", "")
			s.setSandbox("", "")
			return errors.Join(ErrSandboxDeleted, err)
		}
		if err != nil {
			return errors.Join(ErrOrphanedClaim, err)
		}
	}
	found, err := s.client.api.get(verifying, sandboxes, s.Namespace, s.Name)
	if err != nil {
		return errors.Join(ErrOrphanedClaim, err)
	}
	// The router resumes a suspended sandbox, or says that it may not.
	if state := statusOf(found); state.Phase != PhaseReady && state.Phase != PhaseSuspended {
		return fmt.Errorf("%w: the sandbox is not ready: %s", ErrOrphanedClaim, firstOf(state.Message, state.Reason, string(state.Phase)))
	}
	return s.connect(ctx, found)
}

// connect opens the way to the sandbox. It has no object on handles of Create and Get.
func (s *Sandbox) connect(ctx context.Context, found *object) error {
	opened, err := s.client.open(ctx, s.options, s.Namespace, found)
	if err != nil {
		return err
	}
	to := target{namespace: s.Namespace, name: s.Name, uid: s.UID}
	s.mu.Lock()
	s.connection = opened
	if found != nil {
		// Scoped tokens of the reference are refused together with a UID.
		to = target{namespace: s.Namespace, name: found.Metadata.Name}
		s.podName, s.podIP, s.annotations = found.podName(), podIPOf(found.Status.PodIPs), found.Metadata.Annotations
	}
	s.mu.Unlock()
	s.link.connect(opened.router, to, s.key(), s.tracing.startLifecycle(ctx))
	if opened.ended != nil {
		go s.watchConnection(opened)
	}
	return nil
}

// watchConnection disconnects the handle when its tunnel has ended.
func (s *Sandbox) watchConnection(opened *connection) {
	select {
	case <-opened.closed:
		return
	case <-opened.ended:
	}
	s.mu.Lock()
	isCurrent := s.connection == opened
	if isCurrent {
		s.connection = nil
	}
	s.mu.Unlock()
	if isCurrent {
		s.link.disconnect(ErrPortForwardDied)
		opened.close()
	}
}

func (o *object) podName() string {
	return firstOf(o.Metadata.Annotations[podNameAnnotation], o.Metadata.Name)
}

// podIPOf returns the first IPv4 address, else the first IPv6 address.
func podIPOf(addresses []string) string {
	var other string
	for _, each := range addresses {
		address, err := netip.ParseAddr(strings.TrimSpace(each))
		if err != nil {
			continue
		}
		if address = address.Unmap(); address.Is4() {
			return address.String()
		}
		other = firstOf(other, address.String())
	}
	return other
}

func traced[T any](t *tracing, ctx context.Context, operation, claim string, call func(context.Context) (T, error)) (T, error) {
	ctx, end := t.start(ctx, operation, attribute.String("sandbox.claim.name", claim))
	value, err := call(ctx)
	end(err)
	return value, err
}
