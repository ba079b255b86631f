package rest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/contexts"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

const (
	usualCodeTime = 5 * time.Minute
	maxCodeTime   = 24 * time.Hour
	// maxCollected is the limit of output and results in a response that is not streamed.
	maxCollected = 16 << 20
)

func (h *Handler) routeContexts(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/contexts", func(w http.ResponseWriter, _ *http.Request) {
		list := h.Contexts.List()
		if list == nil {
			list = []*contexts.Context{}
		}
		api.WriteJSON(w, http.StatusOK, map[string]any{"contexts": list, "languages": contexts.Languages()})
	})
	mux.HandleFunc("POST /v1/contexts", answer(h.createContext))
	mux.HandleFunc("DELETE /v1/contexts/{id}", answer(h.closeContext))
	mux.HandleFunc("POST /v1/contexts/{id}/execute", answer(h.executeCode))
}

func (h *Handler) createContext(w http.ResponseWriter, r *http.Request) error {
	defer h.Activity.Begin()()
	var spec contexts.Spec
	if err := api.ReadJSON(w, r, &spec); err != nil {
		return err
	}
	created, err := h.Contexts.Create(spec)
	var refused *process.StartError
	switch {
	case err == nil:
		api.WriteJSON(w, http.StatusCreated, created)
		return nil
	case errors.Is(err, contexts.ErrUnknownLanguage):
		return api.Refuse(api.InvalidArgument, "Cannot create a context for %q: want one of %s", spec.Language, strings.Join(contexts.Languages(), ", "))
	case errors.Is(err, contexts.ErrNoInterpreter):
		return api.Refuse(api.FailedPrecondition, "Cannot create a context for %q: the image has no interpreter for it in PATH", spec.Language)
	case errors.Is(err, contexts.ErrNameTaken):
		return api.Refuse(api.Conflict, "Cannot create a context: another one has the name %q", spec.Name)
	case errors.Is(err, contexts.ErrTooMany):
		return api.Refuse(api.Exhausted, "Cannot create a context: too many are open; delete one")
	case errors.As(err, &refused):
		return api.Refuse(startCodes[refused.Kind], "%v", refused)
	}
	return err
}

var startCodes = map[process.Kind]string{
	process.Internal: api.Internal, process.Invalid: api.InvalidArgument, process.NotFound: api.NotFound,
	process.Denied: api.PermissionDenied, process.Exhausted: api.Exhausted,
}

func (h *Handler) findContext(r *http.Request) (*contexts.Context, error) {
	found, ok := h.Contexts.Get(r.PathValue("id"))
	if !ok {
		return nil, api.Refuse(api.NotFound, "Cannot find context %q", r.PathValue("id"))
	}
	return found, nil
}

func (h *Handler) closeContext(w http.ResponseWriter, r *http.Request) error {
	found, err := h.findContext(r)
	if err != nil {
		return err
	}
	h.Contexts.Close(found)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

type codeRequest struct {
	Code           string            `json:"code"`
	Env            map[string]string `json:"env"`
	TimeoutSeconds float64           `json:"timeout_seconds"`
}

func (c codeRequest) timeout() (time.Duration, error) {
	if c.TimeoutSeconds == 0 {
		return usualCodeTime, nil
	}
	if c.TimeoutSeconds < 0 || c.TimeoutSeconds > maxCodeTime.Seconds() {
		return 0, api.Refuse(api.InvalidArgument, "Cannot use timeout_seconds %v: want more than 0 and at most %v", c.TimeoutSeconds, maxCodeTime.Seconds())
	}
	return time.Duration(c.TimeoutSeconds * float64(time.Second)), nil
}

// executeCode runs code in a context. The response is one object at the end, or a stream of events with stream=true.
func (h *Handler) executeCode(w http.ResponseWriter, r *http.Request) error {
	defer h.Activity.Begin()()
	found, err := h.findContext(r)
	if err != nil {
		return err
	}
	stream, err := api.Flag(r, "stream")
	if err != nil {
		return err
	}
	beat, err := api.Beat(r)
	if err != nil {
		return err
	}
	var request codeRequest
	if err := api.ReadJSON(w, r, &request); err != nil {
		return err
	}
	timeout, err := request.timeout()
	if err != nil {
		return err
	}
	run := contexts.Run{Code: request.Code, Env: request.Env, Timeout: timeout}
	if stream {
		lines := api.NewLines(w)
		// Clients measure how long the code runs from the headers on.
		_ = lines.Flush()
		defer lines.KeepAlive(beat, contexts.Event{Type: "keepalive"})()
		err := h.Contexts.Execute(r.Context(), found, run, func(event contexts.Event) error { return lines.Send(event) })
		if err != nil {
			_ = lines.Send(ended(err))
			// Without it, clients take the stream for one that was cut off.
			_ = lines.Send(contexts.Event{Type: "end"})
		}
		return nil
	}
	collected := &collection{Results: []map[string]any{}}
	if err := h.Contexts.Execute(r.Context(), found, run, collected.add); err != nil {
		if !errors.Is(err, contexts.ErrEnded) && !errors.Is(err, context.DeadlineExceeded) {
			return api.During("run code in", found.ID, err)
		}
		_ = collected.add(ended(err))
	}
	collected.Stdout, collected.Stderr = collected.stdout.String(), collected.stderr.String()
	api.WriteJSON(w, http.StatusOK, collected)
	return nil
}

func ended(err error) contexts.Event {
	return contexts.Event{Type: "error", Name: "ContextEnded", Message: strings.ReplaceAll(err.Error(), "\n", ": ")}
}

// collection is the response that is not streamed.
type collection struct {
	Stdout         string           `json:"stdout"`
	Stderr         string           `json:"stderr"`
	Results        []map[string]any `json:"results"`
	Error          *contexts.Event  `json:"error,omitempty"`
	ExecutionCount int              `json:"execution_count"`
	Truncated      bool             `json:"truncated,omitempty"`

	stdout, stderr strings.Builder
	size           int
}

func (c *collection) add(event contexts.Event) error {
	c.size += len(event.Text)
	for _, content := range event.Data {
		if text, ok := content.(string); ok {
			c.size += len(text)
		}
	}
	if c.size > maxCollected && (event.Type == "stdout" || event.Type == "stderr" || event.Data != nil) {
		c.Truncated = true
		return nil
	}
	switch event.Type {
	case "stdout":
		c.stdout.WriteString(event.Text)
	case "stderr":
		c.stderr.WriteString(event.Text)
	case "result", "display":
		c.Results = append(c.Results, event.Data)
	case "error":
		c.Error = &event
	case "end":
		c.ExecutionCount = event.ExecutionCount
	}
	return nil
}
