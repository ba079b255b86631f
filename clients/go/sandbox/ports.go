package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// OpenPort is a port that a program in a sandbox listens on.
type OpenPort struct {
	Port             int
	Address, Command string
}

// Ports returns the ports that are open now.
func (s *Sandbox) Ports(ctx context.Context) ([]OpenPort, error) {
	doing := "Cannot list the ports"
	ctx, cancel := limit(ctx, defaultTimeout, doing)
	defer cancel()
	var found struct{ Ports []OpenPort }
	err := s.operate(ctx, operation{name: "list_ports"}, func(ctx context.Context) error {
		return s.json(ctx, restCall{doing: doing, method: http.MethodGet, path: "/ports"}, nil, &found)
	})
	return found.Ports, err
}

// PortURL returns the address of a port through the router. Requests need a credential; for a browser use LoginURL.
func (s *Sandbox) PortURL(port int) (string, error) {
	router, to, err := s.route()
	if err != nil {
		return "", err
	}
	address, err := url.Parse(router.url)
	if err != nil {
		return "", err
	}
	host, number := address.Hostname(), address.Port()
	if net.ParseIP(host) != nil {
		host = "localhost"
	}
	address.Host = fmt.Sprintf("%d-%s.%s.%s", port, to.name, to.namespace, host)
	if number != "" {
		address.Host += ":" + number
	}
	return address.String() + "/", nil
}

// LoginURL returns a link that opens a port in a browser. It is valid for one minute and can be used once. It needs a client with a
// credential for the router: that of a port-forward is not enough.
func (s *Sandbox) LoginURL(ctx context.Context, port int) (string, error) {
	doing := fmt.Sprintf("Cannot create a login link for port %d", port)
	ctx, cancel := limit(ctx, defaultTimeout, doing)
	defer cancel()
	var login struct{ URL string }
	err := s.operate(ctx, operation{name: "login_url"}, func(ctx context.Context) error {
		router, to, err := s.route()
		if err != nil {
			return err
		}
		body, err := json.Marshal(map[string]any{"ports": []int{port}})
		if err != nil {
			return err
		}
		path := fmt.Sprintf("/router/v1/namespaces/%s/sandboxes/%s/logins", url.PathEscape(to.namespace), url.PathEscape(to.name))
		return router.control(ctx, doing, path, body, &login)
	})
	return login.URL, err
}

// control calls the API of the router itself.
func (r *routerClient) control(ctx context.Context, doing, path string, body []byte, into any) error {
	header := map[string]string{"Content-Type": "application/json"}
	response, err := retry(ctx, attempt{doing: doing, repeatable: true}, func(int) (*http.Response, error) {
		request, err := r.request(ctx, call{method: http.MethodPost, path: path, header: header, body: body})
		if err != nil {
			return nil, err
		}
		response, err := r.client.Do(request)
		if err != nil {
			return nil, lost(doing, err, wasSent(err))
		}
		if response.StatusCode < 300 {
			return response, nil
		}
		text := readError(response)
		if failure := routerError(doing, response, text); failure != nil {
			return nil, failure
		}
		return nil, &Error{Reason: reasonOr(kubeReasons[response.StatusCode]), Message: fmt.Sprintf("%s: the router answered %d", doing, response.StatusCode), Status: response.StatusCode, Body: string(text)}
	})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var content bytes.Buffer
	if _, err := content.ReadFrom(http.MaxBytesReader(nil, response.Body, maxErrorBytes)); err != nil {
		return ended(ctx, lost(doing, err, true))
	}
	return json.Unmarshal(content.Bytes(), into)
}

// WaitForPort waits until a program listens on the port. Default timeout: one minute.
func (s *Sandbox) WaitForPort(ctx context.Context, port int, options ...CallOption) error {
	return s.operate(ctx, operation{name: "wait_for_port", limited: true, limitsItself: true}, func(ctx context.Context) error {
		return s.waitForPort(ctx, port, optionsOf(options).timeout)
	})
}

func (s *Sandbox) waitForPort(ctx context.Context, port int, timeout time.Duration) error {
	if timeout == 0 {
		timeout = defaultTimeout
	}
	doing := fmt.Sprintf("Cannot wait for port %d", port)
	ctx, cancel := limit(ctx, timeout, doing)
	defer cancel()
	for {
		deadline, _ := ctx.Deadline()
		wait := min(20*time.Second, max(100*time.Millisecond, time.Until(deadline)-500*time.Millisecond))
		var state struct {
			Ready  bool
			Reason string
		}
		call := restCall{doing: doing, method: http.MethodGet, path: fmt.Sprintf("/ports/%d", port), query: url.Values{"wait": {fmt.Sprintf("%.1fs", wait.Seconds())}}}
		if err := s.json(ctx, call, nil, &state); err != nil || state.Ready {
			return err
		}
		if time.Until(deadline) < 600*time.Millisecond {
			return failf(TimedOut, "%s: %s", doing, firstOf(state.Reason, "nothing listens there"))
		}
	}
}
