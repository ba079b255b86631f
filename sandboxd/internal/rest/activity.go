package rest

import (
	"net/http"
	"time"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/activity"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/usage"
)

const usualTTL = time.Minute

func (h *Handler) routeActivity(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/activity", func(w http.ResponseWriter, _ *http.Request) {
		api.WriteJSON(w, http.StatusOK, h.report(time.Now()))
	})
	mux.HandleFunc("GET /v1/leases", func(w http.ResponseWriter, _ *http.Request) {
		api.WriteJSON(w, http.StatusOK, map[string]any{"leases": h.Activity.Leases.List(time.Now())})
	})
	mux.HandleFunc("PUT /v1/leases/{name}", answer(h.renewLease))
	mux.HandleFunc("POST /v1/leases/{name}/hold", answer(h.holdLease))
	mux.HandleFunc("DELETE /v1/leases/{name}", answer(h.releaseLease))
}

// activityReport tells whether the sandbox is in use. Requesting it does not count as activity.
type activityReport struct {
	// Busy is true while a process that was started through the API runs, a stream is open, code runs in a context or a
	// lease is held. The supervised command alone does not count; its activity shows in the processor time.
	Busy             bool             `json:"busy"`
	RunningProcesses int              `json:"running_processes"`
	RunningContexts  int              `json:"running_contexts"`
	OpenStreams      int              `json:"open_streams"`
	Leases           []activity.Lease `json:"leases"`
	LastActivity     time.Time        `json:"last_activity"`
	CPUSeconds       float64          `json:"cpu_seconds"`
	ObservedAt       time.Time        `json:"observed_at"`
}

func (h *Handler) report(now time.Time) activityReport {
	report := activityReport{
		RunningContexts: h.Contexts.Running(),
		OpenStreams:     h.Activity.Streams(),
		Leases:          h.Activity.Leases.List(now),
		LastActivity:    h.Activity.Last().UTC(),
		CPUSeconds:      usage.CPUSeconds(),
		ObservedAt:      now.UTC(),
	}
	for _, p := range h.Processes.List() {
		if p.Running() && p.Listed() && p.Origin != process.OriginContext {
			report.RunningProcesses++
		}
	}
	report.Busy = report.RunningProcesses > 0 || report.RunningContexts > 0 || report.OpenStreams > 0 || len(report.Leases) > 0
	return report
}

func (h *Handler) renewLease(w http.ResponseWriter, r *http.Request) error {
	ttl, err := api.Seconds(r, "ttl", usualTTL, activity.MaxTTL)
	if err != nil {
		return err
	}
	lease, err := h.Activity.Leases.Renew(r.PathValue("name"), ttl, time.Now())
	if err != nil {
		return api.Refuse(api.Conflict, "Cannot renew lease %q: %v", r.PathValue("name"), err)
	}
	api.WriteJSON(w, http.StatusOK, lease)
	return nil
}

// holdLease holds a lease as long as the connection is open, so that it ends with its process.
func (h *Handler) holdLease(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	letGo, err := h.Activity.Leases.Hold(name, time.Now())
	if err != nil {
		return api.Refuse(api.Conflict, "Cannot hold lease %q: %v", name, err)
	}
	defer h.Activity.Touch()
	defer letGo()
	if err := api.NewLines(w).Send(activity.Lease{Name: name}); err != nil {
		return nil
	}
	<-r.Context().Done()
	return nil
}

func (h *Handler) releaseLease(w http.ResponseWriter, r *http.Request) error {
	if !h.Activity.Leases.Release(r.PathValue("name")) {
		return api.Refuse(api.NotFound, "Cannot release lease %q: it is not held", r.PathValue("name"))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
