// Package legacy serves the API of the first runtime: execute, upload, download, list.
package legacy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/activity"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/once"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

const (
	baseVariable = "SANDBOX_BASE_DIR"
	usualBase    = "/app"
	// maxCommands is the limit of concurrent commands. More wait.
	maxCommands = 32
)

// Handler serves the API.
type Handler struct {
	processes *process.Manager
	activity  *activity.Tracker
	// fallback is the base directory if the default one does not exist.
	fallback string
	commands chan struct{}
	executed once.Calls[result]
	// headersAfter is the constant, except in tests.
	headersAfter time.Duration
}

// New returns a handler. Its base directory is $SANDBOX_BASE_DIR, or else /app, or else fallback.
func New(processes *process.Manager, tracker *activity.Tracker, fallback string) *Handler {
	return &Handler{
		processes: processes, activity: tracker, fallback: fallback,
		commands:     make(chan struct{}, maxCommands),
		headersAfter: headersAfter,
		executed:     once.Calls[result]{Cost: func(r result) int { return len(r.Stdout) + len(r.Stderr) }},
	}
}

type route func(h *Handler, w http.ResponseWriter, r *http.Request, path string)

// ServeHTTP does not use http.ServeMux, because that redirects some paths.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method, serve, path := match(r.URL.Path)
	switch {
	case serve == nil:
		detail(w, http.StatusNotFound, "Not Found")
	case method != r.Method:
		w.Header().Set("Allow", method)
		detail(w, http.StatusMethodNotAllowed, "Method Not Allowed")
	default:
		defer h.activity.Begin()()
		serve(h, w, r, path)
	}
}

var exact = map[string]struct {
	method string
	serve  route
}{
	"/":        {"GET", (*Handler).health},
	"/execute": {"POST", (*Handler).execute},
	"/upload":  {"POST", (*Handler).upload},
}

var byPath = map[string]route{
	"download": (*Handler).download,
	"list":     (*Handler).list,
	"exists":   (*Handler).exists,
}

func match(url string) (method string, serve route, path string) {
	if found, ok := exact[url]; ok {
		return found.method, found.serve, ""
	}
	kind, path, _ := strings.Cut(strings.TrimPrefix(url, "/"), "/")
	if path == "" {
		// HTTP clients remove "." from the end of a URL, and some refuse the redirect that adds the slash again.
		path = "."
	}
	return "GET", byPath[kind], path
}

func (h *Handler) health(w http.ResponseWriter, _ *http.Request, _ string) {
	write(w, http.StatusOK, struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}{"ok", "Sandbox Runtime is active."})
}

// base opens the base directory, which may change between requests.
func (h *Handler) base() (*confine.Root, error) { return confine.Open(h.baseDir()) }

func (h *Handler) baseDir() string {
	if dir := strings.TrimSpace(os.Getenv(baseVariable)); dir != "" {
		return dir
	}
	if info, err := os.Stat(usualBase); err == nil && info.IsDir() {
		return usualBase
	}
	return h.fallback
}

func message(w http.ResponseWriter, status int, text string) {
	write(w, status, map[string]string{"message": text})
}

func detail(w http.ResponseWriter, status int, value any) {
	write(w, status, map[string]any{"detail": value})
}

// write encodes JSON like the first runtime: compact, and without escaping <, > and &.
func write(w http.ResponseWriter, status int, value any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		http.Error(w, "Internal Server Error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(bytes.TrimSuffix(body.Bytes(), []byte("\n")))
}
