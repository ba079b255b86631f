package token

import (
	"errors"
	"fmt"
	"net/http"
)

// Identity is what a sandbox knows about itself. Empty fields are not checked.
type Identity struct{ Name, Namespace, UID string }

// CheckUID refuses a request that is meant for another sandbox: its address was reused. It is asked before the token,
// which is another's as well, so it tells nothing about this sandbox.
func (i Identity) CheckUID(header http.Header) error {
	if _, is := another(header, "X-Sandbox-UID", i.UID); is {
		//lint:ignore ST1005 the router recognises this text
		return errors.New("Cannot serve X-Sandbox-UID: this is another sandbox")
	}
	return nil
}

// CheckNames refuses a request of somebody who has the token and dialled the wrong sandbox.
func (i Identity) CheckNames(header http.Header) error {
	for _, claim := range [...]struct{ header, own string }{
		{"X-Sandbox-ID", i.Name},
		{"X-Sandbox-Namespace", i.Namespace},
	} {
		if given, is := another(header, claim.header, claim.own); is {
			//lint:ignore ST1005 the router recognises this text
			return fmt.Errorf("Cannot serve %s %q: this sandbox is %q", claim.header, given, claim.own)
		}
	}
	return nil
}

// another finds what a header says that is not our own, if only in one of several lines.
func another(header http.Header, name, own string) (string, bool) {
	for _, given := range header.Values(name) {
		if given != "" && own != "" && given != own {
			return given, true
		}
	}
	return "", false
}
