// Package rest serves everything under /v1: files, ports, usage, code contexts, activity.
package rest

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/activity"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/contexts"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/files"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/lifecycle"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/once"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/ports"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

// Options of the handler.
type Options struct {
	Root      *confine.Root
	Processes *process.Manager
	Contexts  *contexts.Manager
	Activity  *activity.Tracker
	Lifecycle *lifecycle.Lifecycle
	// MetadataPrefix selects the environment variables in /v1/metadata.
	MetadataPrefix string
}

// Handler serves the API.
type Handler struct {
	Options
	files    *files.Handler
	started  time.Time
	stopping atomic.Bool
	metadata func() map[string]string
	inside   *http.ServeMux
	mux      *http.ServeMux
	repeated once.Calls[kept]
	forwards ports.Forwards
}

// New returns a handler.
func New(options Options) *Handler {
	h := &Handler{
		Options: options,
		files:   files.New(options.Root, options.Activity),
		started: time.Now(),
	}
	h.repeated.Cost = kept.cost
	h.metadata = sync.OnceValue(func() map[string]string { return visible(os.Environ(), options.MetadataPrefix) })
	h.inside = http.NewServeMux()
	h.routeActivity(h.inside)
	h.routeEpoch(h.inside)
	h.mux = http.NewServeMux()
	h.mux.HandleFunc("GET /v1/health", h.health)
	h.mux.HandleFunc("GET /v1/metadata", func(w http.ResponseWriter, _ *http.Request) {
		api.WriteJSON(w, http.StatusOK, map[string]any{"env": h.metadata()})
	})
	h.routeSystem(h.mux)
	h.routeContexts(h.mux)
	h.routeActivity(h.mux)
	h.routeEpoch(h.mux)
	h.routeLifecycle(h.mux)
	return h
}

// ServeHTTP serves requests from the network.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isOnce(r) {
		h.serveOnce(w, r, h.serve)
		return
	}
	h.serve(w, r)
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	if !h.files.Serve(w, r) {
		h.mux.ServeHTTP(w, r)
	}
}

// Inside returns the handler for processes in the sandbox, which serves only activity, leases and the epoch.
func (h *Handler) Inside() http.Handler { return h.inside }

// Stop makes the health check fail.
func (h *Handler) Stop() { h.stopping.Store(true) }

func (h *Handler) health(w http.ResponseWriter, _ *http.Request) {
	if h.stopping.Load() {
		api.WriteError(w, api.Refuse(api.Unavailable, "sandboxd is shutting down"))
		return
	}
	api.WriteJSON(w, http.StatusOK, struct {
		Status string `json:"status"`
		Uptime int    `json:"uptime_seconds"`
	}{"ok", int(time.Since(h.started).Seconds())})
}

// secretWords mark variables that are not shown, if they occur in the name.
var secretWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "CRED", "KEY", "AUTH", "BEARER", "PRIVATE", "CERT"}

func visible(environment []string, prefix string) map[string]string {
	shown := map[string]string{}
	for _, pair := range environment {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, prefix) && !isSecret(name) {
			shown[name] = value
		}
	}
	return shown
}

func isSecret(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range secretWords {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return false
}

// answer converts a function that returns an error into a handler.
func answer(serve func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r); err != nil {
			api.WriteError(w, err)
		}
	}
}
