package sandbox

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// ConnectionStrategy is a way to the sandboxes.
type ConnectionStrategy interface {
	// Connect returns the base URL of requests.
	Connect(ctx context.Context) (baseURL string, err error)
	Close() error
}

// connection is an open way to a sandbox.
type connection struct {
	strategy ConnectionStrategy
	router   *routerClient
	// ended is closed when the connection is lost. It is nil if there is none that could be lost.
	ended <-chan bool
	// closed is closed when the handle no longer uses the connection.
	closed chan struct{}
}

func (c *connection) close() {
	close(c.closed)
	_ = c.strategy.Close()
}

const (
	routerService = "sandbox-router-svc"
	routerPort    = "8080"
	// systemNamespace is where a router is installed if there is none in the namespace of the sandbox.
	systemNamespace = "agent-sandbox-system"
)

// open opens the way that the options name. The Sandbox is nil for handles of Create and Get, which always use the router.
func (c *Client) open(ctx context.Context, o Options, namespace string, found *object) (*connection, error) {
	if c.router != nil {
		return &connection{strategy: directStrategy(c.router.url), router: c.router, closed: make(chan struct{})}, nil
	}
	toSandboxd := found != nil && o.Runtime == RuntimeSandboxd
	router := &routerClient{tracing: c.tracing}
	if o.Token != "" {
		router.authorize = func(request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+o.Token)
			return nil
		}
	}
	transport := o.HTTPTransport
	if transport == nil {
		transport = c.transport
	}
	opened := &connection{router: router, closed: make(chan struct{})}
	switch {
	case o.APIURL != "":
		opened.strategy, router.bare = directStrategy(o.APIURL), toSandboxd
	case toSandboxd && (found.Spec["runtime"] != "Injected" || o.SandboxdRESTPort != restPort || o.SandboxdGRPCPort != rpcPort):
		router.bare, router.ports = true, map[int]int{restPort: o.SandboxdRESTPort, rpcPort: o.SandboxdGRPCPort}
		pod := found.podName()
		opened.strategy = &tunnelStrategy{
			tunnel: c.api.tunnelTo(func(context.Context) (string, string, error) { return namespace, pod, nil }),
			url:    "http://localhost", timeout: o.PortForwardReadyTimeout, given: o.HTTPTransport,
		}
	case o.GatewayName != "" && !toSandboxd:
		opened.strategy = &gatewayStrategy{client: c, options: o}
	default:
		// The daemon of an injected runtime accepts requests from the router only. Other ports mean another daemon.
		opened.strategy = &tunnelStrategy{
			tunnel: c.routerTunnel(namespace), url: "http://localhost:" + routerPort, timeout: o.PortForwardReadyTimeout, given: o.HTTPTransport,
			listens: true,
		}
	}
	url, err := opened.strategy.Connect(ctx)
	if err != nil {
		return nil, err
	}
	router.url = strings.TrimSuffix(url, "/")
	if through, ok := opened.strategy.(*tunnelStrategy); ok {
		transport, opened.ended = through.transport, through.ended
		router.grpc = httpClient(through.tunnel.http2)
	}
	router.client = httpClient(transport)
	return opened, nil
}

// directStrategy is an address.
type directStrategy string

func (s directStrategy) Connect(context.Context) (string, error) { return string(s), nil }
func (directStrategy) Close() error                              { return nil }

// tunnelStrategy reaches the ports of a Pod through the API server.
type tunnelStrategy struct {
	tunnel  *tunnel
	url     string
	timeout time.Duration
	given   http.RoundTripper
	// listens: a transport that dials itself gets a local port.
	listens bool

	transport http.RoundTripper
	ended     <-chan bool
	listener  net.Listener
}

func (s *tunnelStrategy) Connect(ctx context.Context) (string, error) {
	ctx, cancel := limit(ctx, s.timeout, "Cannot open a tunnel")
	defer cancel()
	ended, err := s.tunnel.join(ctx)
	if err != nil {
		return "", err
	}
	s.ended = ended
	if s.given != nil && s.listens {
		if _, ok := s.given.(*http.Transport); !ok {
			return s.listen()
		}
	}
	s.transport = s.tunnel.transport
	if given, ok := s.given.(*http.Transport); ok {
		own := given.Clone()
		own.Proxy, own.DialContext = nil, s.tunnel.open
		s.transport = own
	}
	return s.url, nil
}

// listen forwards the connections of a local port. Whoever can connect to it uses the tunnel, so it is opened only for transports
// that dial themselves.
func (s *tunnelStrategy) listen() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.tunnel.leave()
		return "", err
	}
	s.listener, s.transport = listener, s.given
	go func() {
		for {
			local, err := listener.Accept()
			if err != nil {
				return
			}
			go s.forward(local)
		}
	}()
	return "http://" + listener.Addr().String(), nil
}

func (s *tunnelStrategy) forward(local net.Conn) {
	defer local.Close()
	remote, err := s.tunnel.open(context.Background(), "tcp", "localhost:"+routerPort)
	if err != nil {
		return
	}
	defer remote.Close()
	go func() {
		_, _ = io.Copy(remote, local)
		_ = remote.Close()
	}()
	_, _ = io.Copy(local, remote)
}

func (s *tunnelStrategy) Close() error {
	if s.listener != nil {
		_ = s.listener.Close()
	}
	if own, ok := s.transport.(*http.Transport); ok && own != s.tunnel.transport {
		own.CloseIdleConnections()
	}
	s.tunnel.leave()
	return nil
}

// routerTunnel returns the tunnel to the router that serves a namespace. Handles share it.
func (c *Client) routerTunnel(namespace string) *tunnel {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tunnels[namespace] == nil {
		c.tunnels[namespace] = c.api.tunnelTo(func(ctx context.Context) (string, string, error) { return c.api.findRouter(ctx, namespace) })
	}
	return c.tunnels[namespace]
}

// findRouter returns a ready Pod of the router: in the namespace of the sandbox, as the reference, or where it is usually installed.
func (a *apiServer) findRouter(ctx context.Context, namespace string) (string, string, error) {
	for _, place := range []string{namespace, systemNamespace} {
		var found struct {
			Items []struct {
				Endpoints []struct {
					Conditions struct{ Ready *bool }
					TargetRef  struct{ Kind, Name string }
				}
			}
		}
		path := "/apis/discovery.k8s.io/v1/namespaces/" + place + "/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D" + routerService
		err := a.into(ctx, "Cannot find a router", http.MethodGet, path, "", nil, &found)
		if err != nil && !IsReason(err, Forbidden) {
			return "", "", err
		}
		for _, slice := range found.Items {
			for _, endpoint := range slice.Endpoints {
				isReady := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
				if isReady && endpoint.TargetRef.Kind == "Pod" && endpoint.TargetRef.Name != "" {
					return place, endpoint.TargetRef.Name, nil
				}
			}
		}
	}
	return "", "", failf(Unreachable, "Cannot find a router: Service %q has no ready Pod in namespaces %q and %q", routerService, namespace, systemNamespace)
}
