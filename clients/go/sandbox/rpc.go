package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const (
	rpcPort = 9090
	// maxMessageBytes is far above what sandboxd sends in one message.
	maxMessageBytes = 16 << 20
	// lastFlag marks the last message of a stream.
	lastFlag = 2
)

// unary calls a method of process.v1.ProcessService with the Connect protocol, whose messages are JSON.
func (h handle) unary(ctx context.Context, about attempt, method string, message, into any) error {
	response, err := h.rpc(ctx, about, method, "application/json", message, func(content []byte) []byte { return content })
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return ended(ctx, lost(about.doing, err, true))
	}
	return nil
}

// stream calls a method that returns a stream, and calls each with its messages. It returns a transient error if the connection is lost.
func (h handle) stream(ctx context.Context, about attempt, method string, message any, each func([]byte) error) error {
	response, err := h.rpc(ctx, about, method, "application/connect+json", message, envelope)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for {
		flags, content, err := readEnvelope(response.Body)
		if err != nil {
			return ended(ctx, lost(about.doing, err, true))
		}
		if flags&lastFlag == 0 {
			if err := each(content); err != nil {
				return err
			}
			continue
		}
		var end struct{ Error *rpcError }
		if err := json.Unmarshal(content, &end); err != nil || end.Error == nil {
			return nil
		}
		return end.Error.convert(about.doing, 0)
	}
}

func (h handle) rpc(ctx context.Context, about attempt, method, contentType string, message any, wrap func([]byte) []byte) (*http.Response, error) {
	if h.reference != nil && h.reference.restOnly {
		return nil, fmt.Errorf("%w: the APIURL leads to the REST API of sandboxd only", ErrNotReady)
	}
	content, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	return h.send(ctx, call{
		attempt: about, port: rpcPort, method: http.MethodPost, path: "/process.v1.ProcessService/" + method, body: wrap(content),
		header: map[string]string{"Content-Type": contentType, "Connect-Protocol-Version": "1"},
		refuse: func(status int, body []byte) *Error {
			failure := &rpcError{}
			_ = json.Unmarshal(body, failure)
			return failure.convert(about.doing, status)
		},
	})
}

type rpcError struct{ Code, Message string }

var rpcReasons = map[string]Reason{
	"not_found": NotFound, "invalid_argument": InvalidArgument, "failed_precondition": Conflict, "aborted": OutcomeUnknown,
	"permission_denied": Forbidden, "unauthenticated": Unauthenticated, "resource_exhausted": LimitExceeded,
	"deadline_exceeded": TimedOut, "unimplemented": Unsupported, "unavailable": Unreachable,
}

func (e *rpcError) convert(doing string, status int) *Error {
	message := firstOf(e.Message, fmt.Sprintf("the sandbox answered %d; does it run sandboxd?", status))
	return &Error{Reason: reasonOr(rpcReasons[e.Code]), Message: doing + ": " + message, Status: status, ServerReason: e.Code}
}

// envelope puts five bytes in front of a message: flags, and its length.
func envelope(content []byte) []byte {
	buffer := make([]byte, 5, 5+len(content))
	binary.BigEndian.PutUint32(buffer[1:], uint32(len(content)))
	return append(buffer, content...)
}

var errMessageTooLarge = errors.New("the sandbox sent a message that is too large")

func readEnvelope(from io.Reader) (flags byte, content []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length > maxMessageBytes {
		return 0, nil, errMessageTooLarge
	}
	var message bytes.Buffer
	if _, err := io.CopyN(&message, from, int64(length)); err != nil {
		return 0, nil, err
	}
	return head[0], message.Bytes(), nil
}
