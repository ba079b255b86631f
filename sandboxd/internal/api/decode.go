package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// MaxJSONBytes limits JSON bodies, which are held in memory. File contents are streamed.
const MaxJSONBytes = 4 << 20

// ReadJSON decodes a body with one JSON object. Unknown fields are an error.
func ReadJSON(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxJSONBytes))
	if err != nil {
		return During("read", "the body", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return Refuse(InvalidArgument, "Cannot read the body: %v", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return Refuse(InvalidArgument, "Cannot read the body: more than one JSON value")
	}
	return nil
}

// Flag parses a boolean query parameter. Default: false.
func Flag(r *http.Request, name string) (bool, error) {
	text := r.URL.Query().Get(name)
	if text == "" && !r.URL.Query().Has(name) {
		return false, nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, Refuse(InvalidArgument, "Cannot use %s=%q: want a boolean", name, text)
	}
	return value, nil
}

// Count parses an integer query parameter from 0 to most. Default: fallback.
func Count(r *http.Request, name string, fallback, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return fallback, nil
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < 0 || value > most {
		return 0, Refuse(InvalidArgument, "Cannot use %s=%q: want a whole number from 0 to %d", name, text, most)
	}
	return value, nil
}

// Seconds parses a duration query parameter, such as "30s" or a number of seconds. Default: fallback.
func Seconds(r *http.Request, name string, fallback, most time.Duration) (time.Duration, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return fallback, nil
	}
	value, err := time.ParseDuration(text)
	if err != nil {
		value, err = time.ParseDuration(text + "s")
	}
	if err != nil || value < 0 || value > most {
		return 0, Refuse(InvalidArgument, "Cannot use %s=%q: want a duration up to %v", name, text, most)
	}
	return value, nil
}
