package once

import (
	"net/http"
	"strconv"
	"time"
)

// AgeHeader is how many milliseconds ago the client sent this request for the first time. Clients send it with repeated requests.
const AgeHeader = "X-Request-Age"

// MayPrecede reports whether a request was first sent before this daemon started. An earlier daemon, which is gone with all
// results, may have executed it.
func MayPrecede(header http.Header, started time.Time) bool {
	age, err := strconv.ParseInt(header.Get(AgeHeader), 10, 64)
	if err != nil || age <= 0 {
		return false
	}
	// Wall-clock time: the monotonic clock stops while the memory of the sandbox is saved.
	return time.Duration(age)*time.Millisecond > time.Now().Round(0).Sub(started.Round(0))
}
