package api

import (
	"encoding/json"
	"net/http"
)

// Lines answers with one JSON value per line, each sent at once.
type Lines struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// NewLines begins such an answer.
func NewLines(w http.ResponseWriter) *Lines {
	w.Header().Set("Content-Type", "application/x-ndjson")
	// Nothing on the way may hold lines back.
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &Lines{w: w, control: http.NewResponseController(w)}
}

// Write adds a line without sending it yet.
func (l *Lines) Write(value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = l.w.Write(append(line, '\n'))
	return err
}

// Flush sends what was written.
func (l *Lines) Flush() error { return l.control.Flush() }

// Send writes a line and sends it.
func (l *Lines) Send(value any) error {
	if err := l.Write(value); err != nil {
		return err
	}
	return l.Flush()
}
