package api

import (
	"encoding/json"
	"net/http"
)

// Lines is a response of JSON values, one per line.
type Lines struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// NewLines starts the response.
func NewLines(w http.ResponseWriter) *Lines {
	w.Header().Set("Content-Type", "application/x-ndjson")
	// Proxies must not buffer the lines.
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &Lines{w: w, control: http.NewResponseController(w)}
}

// Write adds a line without flushing it.
func (l *Lines) Write(value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = l.w.Write(append(line, '\n'))
	return err
}

// Flush sends the lines written so far.
func (l *Lines) Flush() error { return l.control.Flush() }

// Send writes a line and flushes it.
func (l *Lines) Send(value any) error {
	if err := l.Write(value); err != nil {
		return err
	}
	return l.Flush()
}
