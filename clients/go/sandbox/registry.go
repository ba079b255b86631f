package sandbox

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"k8s.io/client-go/rest"
)

// Key names the claim of a sandbox.
type Key struct{ Namespace, ClaimName string }

// NewClient returns a client with the interface of the reference's Go client. It reaches sandboxes as the options say: by default through
// a port-forward of the API server to the router. It sends nothing yet.
func NewClient(_ context.Context, options Options) (*Client, error) {
	config, err := referenceConfig(options)
	if err != nil {
		return nil, failf(Unreachable, "Cannot find the API server: %v", err)
	}
	return newClient(options, config)
}

func newClient(options Options, config *rest.Config) (*Client, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	tracing := newTracing(options.TracerProvider, options.TraceServiceName)
	api, err := newAPIServer(config, tracing)
	if err != nil {
		return nil, failf(Unreachable, "Cannot use the kubeconfig: %v", err)
	}
	transport := newTransport()
	transport.Proxy = http.ProxyFromEnvironment
	return &Client{
		Namespace: options.Namespace, api: api, transport: transport, options: options, tracing: tracing, log: loggerOf(options), tunnels: map[string]*tunnel{}, active: map[Key]*Sandbox{},
	}, nil
}

// CreateSandbox takes a sandbox from a pool and waits until it can be used. Without a namespace: "default". Create has more options.
func (c *Client) CreateSandbox(ctx context.Context, warmPoolName, namespace string) (*Sandbox, error) {
	options := c.options
	options.WarmPoolName, options.Namespace = warmPoolName, firstOf(namespace, "default")
	created, err := c.newHandle(options)
	if err != nil {
		return nil, err
	}
	if err := created.Open(ctx); err != nil {
		return nil, err
	}
	return c.track(ctx, created), nil
}

// GetSandbox attaches to the sandbox of a claim. Close deletes it, Disconnect does not.
func (c *Client) GetSandbox(ctx context.Context, claimName, namespace string) (*Sandbox, error) {
	options := c.options
	options.Namespace = firstOf(namespace, "default")
	if known := c.tracked(Key{options.Namespace, claimName}); known != nil && known.IsReady() {
		return known, nil
	}
	attached, err := c.newHandle(options)
	if err != nil {
		return nil, err
	}
	if err := attached.resolve(ctx, claimName); err != nil {
		return nil, err
	}
	if err := attached.Open(ctx); err != nil {
		return nil, err
	}
	return c.track(ctx, attached), nil
}

// track registers a handle. If another one of the same claim is connected, that one is returned, and the new one is disconnected.
func (c *Client) track(ctx context.Context, handle *Sandbox) *Sandbox {
	key := Key{handle.Namespace, handle.ClaimName()}
	c.mu.Lock()
	known := c.active[key]
	if known == nil || known == handle || !known.IsReady() {
		c.active[key] = handle
		c.mu.Unlock()
		return handle
	}
	c.mu.Unlock()
	_ = handle.Disconnect(ctx)
	return known
}

func (c *Client) tracked(key Key) *Sandbox {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active[key]
}

func (c *Client) forget(key Key, handle *Sandbox) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active[key] == handle {
		delete(c.active, key)
	}
}

// ListActiveSandboxes returns the claims whose handles of this client are connected.
func (c *Client) ListActiveSandboxes() []Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := []Key{}
	for key, handle := range c.active {
		if handle.IsReady() {
			keys = append(keys, key)
		} else {
			delete(c.active, key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ClaimName, b.ClaimName))
	})
	return keys
}

// ListAllSandboxes returns the names of all claims of a namespace, whoever created them.
func (c *Client) ListAllSandboxes(ctx context.Context, namespace string) ([]string, error) {
	ctx, cancel := limit(ctx, defaultTimeout, "Cannot list claims")
	defer cancel()
	found, err := c.api.list(ctx, claims, firstOf(namespace, "default"), "")
	names := make([]string, len(found))
	for index := range found {
		names[index] = found[index].Metadata.Name
	}
	return names, err
}

// DeleteSandbox deletes a claim and its sandbox. It succeeds if the claim is already gone.
func (c *Client) DeleteSandbox(ctx context.Context, claimName, namespace string) error {
	key := Key{firstOf(namespace, "default"), claimName}
	if known := c.tracked(key); known != nil {
		return known.Close(ctx)
	}
	ctx, cancel := limit(context.WithoutCancel(ctx), c.options.CleanupTimeout, "Cannot delete the claim")
	defer cancel()
	return c.api.delete(ctx, claims, key.Namespace, claimName, "")
}

// DeleteAll deletes the sandboxes of CreateSandbox and GetSandbox. Failures are logged.
func (c *Client) DeleteAll(ctx context.Context) {
	c.mu.Lock()
	handles := make(map[Key]*Sandbox, len(c.active))
	for key, handle := range c.active {
		handles[key] = handle
	}
	c.mu.Unlock()
	done := make(chan struct{})
	for key, handle := range handles {
		go func() {
			if err := handle.Close(ctx); err != nil {
				c.log.Error(err, "cannot delete a sandbox", "namespace", key.Namespace, "claim", key.ClaimName)
			}
			done <- struct{}{}
		}()
	}
	for range handles {
		<-done
	}
}

// EnableAutoCleanup deletes the sandboxes of CreateSandbox and GetSandbox when the program gets SIGINT or SIGTERM, and then lets the signal
// have its effect. A second call does nothing until stop was called.
func (c *Client) EnableAutoCleanup() (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopCleanup != nil {
		return c.stopCleanup
	}
	signals, stopped := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case <-stopped:
		case received := <-signals:
			// A second signal ends the program at once.
			signal.Stop(signals)
			c.DeleteAll(context.Background())
			_ = syscall.Kill(os.Getpid(), received.(syscall.Signal))
		}
	}()
	c.stopCleanup = sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		signal.Stop(signals)
		close(stopped)
		c.stopCleanup = nil
	})
	return c.stopCleanup
}
