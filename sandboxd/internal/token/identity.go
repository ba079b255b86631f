package token

import (
	"fmt"
	"net/http"
)

// Identity is what a sandbox knows about itself. Empty fields are not checked.
type Identity struct{ Name, Namespace, UID string }

// Check refuses a request that names another sandbox, if only in one of several headers: its address was reused, or
// somebody dialled the wrong one.
func (i Identity) Check(header http.Header) error {
	for _, claim := range [...]struct{ header, own string }{
		{"X-Sandbox-ID", i.Name},
		{"X-Sandbox-Namespace", i.Namespace},
		{"X-Sandbox-UID", i.UID},
	} {
		for _, given := range header.Values(claim.header) {
			if given != "" && claim.own != "" && given != claim.own {
				return fmt.Errorf("Cannot serve %s %q: this sandbox is %q", claim.header, given, claim.own)
			}
		}
	}
	return nil
}
