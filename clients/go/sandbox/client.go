package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// Client creates and finds sandboxes on a box or a cluster. It can be used by several goroutines.
type Client struct {
	// Namespace of sandboxes whose namespace is not named.
	Namespace string
	api       *apiServer
	// router is nil on clients of NewClient.
	router *routerClient
	// transport of the clients of NewClient, for requests that do not go through a tunnel.
	transport http.RoundTripper
	tracing   *tracing
	options   Options
	log       logr.Logger

	mu          sync.Mutex
	tunnels     map[string]*tunnel
	active      map[Key]*Sandbox
	stopCleanup func()
}

// Create creates a sandbox and waits until it can be used. If it will not become ready, it is deleted again and the error has the cause.
func (c *Client) Create(ctx context.Context, options CreateOptions) (_ *Sandbox, err error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	options.Namespace = firstOf(options.Namespace, c.Namespace)
	options.Name = firstOf(options.Name, "sandbox-"+strings.ToLower(newRequestID()[:8]))
	options.RequestID = firstOf(options.RequestID, newRequestID())
	if options.Timeout == 0 {
		options.Timeout = lifecycleTimeout
	}
	doing := fmt.Sprintf("Cannot create sandbox %q", options.Name)
	ctx, end := c.tracing.start(ctx, "create")
	defer func() { end(err) }()
	ctx, cancel := limit(ctx, options.Timeout, doing)
	defer cancel()
	kind, wanted, judge, err := c.wanted(ctx, options)
	if err != nil {
		return nil, err
	}
	if text := c.tracing.annotation(ctx); text != "" {
		wanted.Metadata.Annotations[traceAnnotation] = text
	}
	created, err := c.createOnce(ctx, kind, wanted)
	if err != nil {
		return nil, err
	}
	ready, err := c.wait(ctx, kind, created, doing, judge)
	if err != nil {
		// The caller's context may have ended.
		cleaning, stop := limit(context.WithoutCancel(ctx), defaultTimeout, "Cannot clean up")
		defer stop()
		_ = c.api.delete(cleaning, kind, options.Namespace, options.Name, created.Metadata.UID)
		return nil, err
	}
	return c.attach(ctx, kind, ready, true)
}

// wanted returns the object to create.
func (c *Client) wanted(ctx context.Context, options CreateOptions) (kind, *object, func(*object) verdict, error) {
	now := time.Now()
	switch {
	case options.Image != "":
		return sandboxes, options.sandbox(now), isReady, nil
	case options.Snapshot != "":
		snapshot, err := c.api.get(ctx, snapshots, options.Namespace, options.Snapshot)
		if err != nil {
			return kind{}, nil, nil, err
		}
		reference, _ := snapshot.Spec["sandboxRef"].(map[string]any)
		name, _ := reference["name"].(string)
		source, err := c.api.get(ctx, sandboxes, options.Namespace, firstOf(snapshot.Status.SourceName, name))
		if err != nil {
			return kind{}, nil, nil, err
		}
		return sandboxes, options.fork(source, now), isReady, nil
	}
	pool := options.Pool
	if pool == "" {
		var err error
		if pool, err = c.poolOf(ctx, options.Template, options.Namespace); err != nil {
			return kind{}, nil, nil, err
		}
	}
	return claims, options.claim(pool, now), isClaimed, nil
}

// poolOf returns a pool of the template, which is created without members if there is none.
func (c *Client) poolOf(ctx context.Context, template, namespace string) (string, error) {
	all, err := c.api.list(ctx, pools, namespace, "")
	if err != nil {
		return "", err
	}
	uses := func(pool *object) bool {
		reference, _ := pool.Spec["sandboxTemplateRef"].(map[string]any)
		return reference["name"] == template
	}
	for index := range all {
		if uses(&all[index]) {
			return all[index].Metadata.Name, nil
		}
	}
	spec := map[string]any{"replicas": 0, "sandboxTemplateRef": map[string]any{"name": template}}
	_, err = c.api.create(ctx, pools, &object{Metadata: metadata{Name: template, Namespace: namespace}, Spec: spec})
	if ReasonOf(err) != AlreadyExists {
		return template, err
	}
	existing, getErr := c.api.get(ctx, pools, namespace, template)
	if getErr == nil && uses(existing) {
		return template, nil
	}
	return "", &Error{Reason: Conflict, cause: err, Message: fmt.Sprintf("Cannot use template %q: no pool uses it, and a pool of that name uses another one", template)}
}

// createOnce creates an object. If it exists because an earlier attempt of the same call created it, it returns that.
func (c *Client) createOnce(ctx context.Context, k kind, wanted *object) (*object, error) {
	created, err := c.api.create(ctx, k, wanted)
	if ReasonOf(err) != AlreadyExists {
		return created, err
	}
	existing, getErr := c.api.get(ctx, k, wanted.Metadata.Namespace, wanted.Metadata.Name)
	if getErr == nil && existing.Metadata.Annotations[requestIDAnnotation] == wanted.Metadata.Annotations[requestIDAnnotation] {
		return existing, nil
	}
	return nil, err
}

// wait watches an object until it is done or has failed. The error has the last state if the context ends first.
func (c *Client) wait(ctx context.Context, k kind, from *object, doing string, judge func(*object) verdict) (*object, error) {
	why, current := "the server has not reported its state", from
	check := func(event string, state *object) (bool, error) {
		if event == "DELETED" || state.Metadata.UID != from.Metadata.UID {
			return false, failf(NotFound, "%s: %s %q was deleted", doing, k.kind, from.Metadata.Name)
		}
		found := judge(state)
		if found.failed != "" {
			return false, &Error{Reason: Failed, Message: doing + ": " + found.failed, ServerReason: found.serverReason}
		}
		current, why = state, found.waiting
		return found.done, nil
	}
	for {
		done, err := check("", current)
		if err == nil && !done {
			done, err = c.api.watch(ctx, k, current, check)
		}
		if ReasonOf(err) == TimedOut {
			return nil, &Error{Reason: Starting, Message: fmt.Sprintf("%v; last state: %s", err, why), cause: err}
		}
		if err != nil && ReasonOf(err) != Conflict || done {
			return current, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			continue
		}
		if current, err = c.api.get(ctx, k, from.Metadata.Namespace, from.Metadata.Name); err != nil {
			return nil, err
		}
	}
}

// Get attaches to a sandbox by its name or the name of its claim. It may be asleep: the first call wakes it.
func (c *Client) Get(ctx context.Context, name string) (_ *Sandbox, err error) {
	ctx, end := c.tracing.start(ctx, "get")
	defer func() { end(err) }()
	ctx, cancel := limit(ctx, defaultTimeout, fmt.Sprintf("Cannot find sandbox %q", name))
	defer cancel()
	claim, err := c.api.get(ctx, claims, c.Namespace, name)
	if err == nil && claim.Status.Sandbox.Name != "" {
		return c.attach(ctx, claims, claim, false)
	}
	if err != nil && ReasonOf(err) != NotFound {
		return nil, err
	}
	found, err := c.api.get(ctx, sandboxes, c.Namespace, name)
	if err != nil {
		return nil, err
	}
	return c.attach(ctx, sandboxes, found, false)
}

// ListedSandbox is a sandbox in a list.
type ListedSandbox struct {
	Name, Namespace string
	Labels          map[string]string
	CreatedAt       time.Time
	Status          Status
}

// List returns the sandboxes with all of these labels.
func (c *Client) List(ctx context.Context, labels map[string]string) (_ []ListedSandbox, err error) {
	ctx, end := c.tracing.start(ctx, "list_sandboxes")
	defer func() { end(err) }()
	ctx, cancel := limit(ctx, defaultTimeout, "Cannot list sandboxes")
	defer cancel()
	var selector []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		selector = append(selector, key+"="+labels[key])
	}
	found, err := c.api.list(ctx, sandboxes, c.Namespace, strings.Join(selector, ","))
	list := []ListedSandbox{}
	for index := range found {
		each := &found[index]
		created, _ := time.Parse(time.RFC3339, each.Metadata.CreationTimestamp)
		list = append(list, ListedSandbox{each.Metadata.Name, c.Namespace, each.Metadata.Labels, created, statusOf(each)})
	}
	return list, err
}

// DeleteSnapshot deletes a snapshot. It succeeds if the snapshot is already gone.
func (c *Client) DeleteSnapshot(ctx context.Context, name string) (err error) {
	ctx, end := c.tracing.start(ctx, "delete_snapshot")
	defer func() { end(err) }()
	ctx, cancel := limit(ctx, defaultTimeout, fmt.Sprintf("Cannot delete snapshot %q", name))
	defer cancel()
	return c.api.delete(ctx, snapshots, c.Namespace, name, "")
}

// attach returns a connected handle.
func (c *Client) attach(ctx context.Context, k kind, found *object, owned bool) (*Sandbox, error) {
	s := &Sandbox{handle: handle{newLink(c.tracing, nil)}, client: c, options: c.options, owned: owned, lifecycle: make(chan struct{}, 1)}
	s.Name, s.Namespace, s.UID = found.Metadata.Name, found.Metadata.Namespace, found.Metadata.UID
	if k == claims {
		s.claim, s.claimUID = found.Metadata.Name, found.Metadata.UID
		s.Name, s.UID = found.Status.Sandbox.Name, ""
	}
	return s, s.connect(ctx, nil)
}

// IsReason reports whether an error has this reason.
func IsReason(err error, reason Reason) bool {
	var known *Error
	return errors.As(err, &known) && known.Reason == reason
}
