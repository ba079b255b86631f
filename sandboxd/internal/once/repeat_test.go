package once

import (
	"net/http"
	"testing"
	"time"
)

func TestMayPrecede(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		name    string
		age     string
		started time.Time
		want    bool
	}{
		{"a first attempt", "", now, false},
		{"a repeated request to the same daemon", "500", now.Add(-time.Minute), false},
		{"a repeated request after a restart", "5000", now.Add(-time.Second), true},
		{"not a number", "soon", now, false},
		{"negative", "-5000", now, false},
		{"too large a number", "99999999999999999999", now, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := http.Header{}
			header.Set(AgeHeader, test.age)
			if got := MayPrecede(header, test.started); got != test.want {
				t.Errorf("MayPrecede(%q) = %v, want %v", test.age, got, test.want)
			}
		})
	}
}
