package legacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
)

// maxCommandBytes is more than the kernel accepts as arguments.
const maxCommandBytes = 4 << 20

type command struct {
	text string
	// timeout in seconds, or 0.
	timeout float64
}

// complaint is an entry of a validation error in the format of the first runtime's web framework.
type complaint struct {
	Type  string         `json:"type"`
	Where []any          `json:"loc"`
	What  string         `json:"msg"`
	Input any            `json:"input"`
	More  map[string]any `json:"ctx,omitempty"`
}

// readCommand parses {"command": string} with an optional "timeout_seconds".
func readCommand(w http.ResponseWriter, r *http.Request) (command, *complaint, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCommandBytes))
	if err != nil {
		return command{}, nil, err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return command{}, &complaint{Type: "missing", Where: []any{"body"}, What: "Field required"}, nil
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		position := 0
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			position = int(syntax.Offset)
		}
		return command{}, &complaint{
			Type: "json_invalid", Where: []any{"body", position}, What: "JSON decode error", Input: map[string]any{},
			More: map[string]any{"error": err.Error()},
		}, nil
	}
	return checkCommand(value)
}

func checkCommand(value any) (command, *complaint, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return command{}, &complaint{
			Type: "model_attributes_type", Where: []any{"body"}, Input: value,
			What: "Input should be a valid dictionary or object to extract fields from",
		}, nil
	}
	given, ok := fields["command"]
	if !ok {
		return command{}, &complaint{Type: "missing", Where: []any{"body", "command"}, What: "Field required", Input: fields}, nil
	}
	text, ok := given.(string)
	if !ok {
		return command{}, &complaint{Type: "string_type", Where: []any{"body", "command"}, What: "Input should be a valid string", Input: given}, nil
	}
	result := command{text: text}
	if limit, given := fields["timeout_seconds"]; given {
		seconds, ok := limit.(float64)
		if !ok || seconds <= 0 {
			return command{}, &complaint{
				Type: "greater_than", Where: []any{"body", "timeout_seconds"}, Input: limit,
				What: "Input should be greater than 0",
			}, nil
		}
		result.timeout = seconds
	}
	return result, nil, nil
}

// positiveSeconds parses a finite number above 0.
func positiveSeconds(text string) (float64, bool) {
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil && value > 0 && value < maxSeconds
}

// maxSeconds is about the largest time.Duration, 292 years.
const maxSeconds = 9e9
