package token

import (
	"fmt"
	"net/http"
)

// Refusal is the reason for refusing a request, as it is sent to the client.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Identity identifies this sandbox. Empty fields are not checked.
type Identity struct{ Name, Namespace, UID string }

// CheckUID refuses a request for another sandbox, whose address this sandbox has now. It is called before the token is
// checked, because that is the other sandbox's too. So the refusal must not reveal anything about this sandbox.
func (i Identity) CheckUID(header http.Header) error {
	if _, is := another(header, "X-Sandbox-UID", i.UID); is {
		return Refusal("Cannot serve X-Sandbox-UID: this is another sandbox")
	}
	return nil
}

// CheckNames refuses a request that has the token and names another sandbox.
func (i Identity) CheckNames(header http.Header) error {
	for _, claim := range [...]struct{ header, own string }{
		{"X-Sandbox-ID", i.Name},
		{"X-Sandbox-Namespace", i.Namespace},
	} {
		if given, is := another(header, claim.header, claim.own); is {
			return Refusal(fmt.Sprintf("Cannot serve %s %q: this sandbox is %q", claim.header, given, claim.own))
		}
	}
	return nil
}

// another returns a value of the header that differs from our own. A header may occur several times.
func another(header http.Header, name, own string) (string, bool) {
	for _, given := range header.Values(name) {
		if given != "" && own != "" && given != own {
			return given, true
		}
	}
	return "", false
}
