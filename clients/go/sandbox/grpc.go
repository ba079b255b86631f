package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// The sandboxd of the reference speaks gRPC only, so handles that reach it without a router use that for commands. One method with
// two messages does not need a library.

// grpcRun runs a script or a program with process.v1.ProcessService/Execute. It is sent once.
func (r *routerClient) grpcRun(ctx context.Context, script string, argv []string, o callOptions) (*ExecutionResult, error) {
	if o.user != "" || o.stdin != nil || o.stdout != nil || o.maxOutput != 0 {
		return nil, fmt.Errorf("%w: user, input, streaming and WithMaxOutput need a router", ErrUnsupportedByRuntime)
	}
	doing := "Cannot run the command"
	if len(argv) == 0 {
		argv = []string{"/bin/sh", "-c", script}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s:%d/process.v1.ProcessService/Execute", r.url, r.ports[rpcPort]), bytes.NewReader(envelope(executeRequest(argv, o))))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	if deadline, ok := ctx.Deadline(); ok {
		request.Header.Set("Grpc-Timeout", strconv.FormatInt(max(1, time.Until(deadline).Milliseconds()), 10)+"m")
	}
	r.tracing.inject(ctx, request.Header)
	response, err := r.grpc.Do(request)
	if err != nil {
		return nil, ended(ctx, lost(doing, err, true))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, &Error{Reason: Internal, Message: fmt.Sprintf("%s: the sandbox answered %d; does it run sandboxd?", doing, response.StatusCode), Status: response.StatusCode}
	}
	content, err := readMessage(response)
	if err != nil {
		return nil, ended(ctx, err)
	}
	result, err := executeResponse(content)
	if err != nil {
		return nil, &Error{Reason: Internal, Message: doing + ": " + err.Error(), cause: err}
	}
	return result, nil
}

// readMessage reads the response of a unary call: one message, then the status in the trailers.
func readMessage(response *http.Response) ([]byte, error) {
	_, content, readErr := readEnvelope(response.Body)
	if readErr == nil {
		_, readErr = io.Copy(io.Discard, io.LimitReader(response.Body, maxErrorBytes))
	}
	status := firstOf(response.Trailer.Get("Grpc-Status"), response.Header.Get("Grpc-Status"))
	if status == "0" && readErr == nil {
		return content, nil
	}
	if status == "" || status == "0" {
		if errors.Is(readErr, errMessageTooLarge) {
			return nil, ErrResponseTooLarge
		}
		return nil, lost("Cannot run the command", readErr, true)
	}
	message, err := url.PathUnescape(firstOf(response.Trailer.Get("Grpc-Message"), response.Header.Get("Grpc-Message")))
	if err != nil {
		message = "status " + status
	}
	return nil, &Error{Reason: reasonOr(grpcReasons[status]), Message: "Cannot run the command: " + message, ServerReason: status}
}

var grpcReasons = map[string]Reason{
	"3": InvalidArgument, "4": TimedOut, "5": NotFound, "7": Forbidden, "8": LimitExceeded, "9": Conflict, "12": Unsupported, "14": Unreachable,
	"16": Unauthenticated,
}

// executeRequest encodes ExecuteRequest{config: {command, env_vars, cwd}}.
func executeRequest(argv []string, o callOptions) []byte {
	var config []byte
	for _, word := range argv {
		config = appendField(config, 1, []byte(word))
	}
	for name, value := range o.env {
		config = appendField(config, 2, appendField(appendField(nil, 1, []byte(name)), 2, []byte(value)))
	}
	if o.dir != "" {
		config = appendField(config, 3, []byte(o.dir))
	}
	return appendField(nil, 1, config)
}

// appendField appends a field of protobuf with bytes.
func appendField(to []byte, number uint64, content []byte) []byte {
	to = binary.AppendUvarint(to, number<<3|2)
	to = binary.AppendUvarint(to, uint64(len(content)))
	return append(to, content...)
}

var errNoMessage = errors.New("the sandbox sent an invalid message")

// executeResponse decodes ExecuteResponse. Fields that it does not know are skipped.
func executeResponse(from []byte) (*ExecutionResult, error) {
	result := &ExecutionResult{}
	for len(from) > 0 {
		tag, size := binary.Uvarint(from)
		if size <= 0 {
			return nil, errNoMessage
		}
		value, valueSize := binary.Uvarint(from[size:])
		if valueSize <= 0 || tag&7 != 0 && tag&7 != 2 {
			return nil, errNoMessage
		}
		from = from[size+valueSize:]
		var content []byte
		if tag&7 == 2 {
			if value > uint64(len(from)) {
				return nil, errNoMessage
			}
			content, from = from[:value], from[value:]
		}
		switch tag {
		case 1 << 3:
			result.ExitCode = int(int32(value & math.MaxUint32))
		case 2<<3 | 2:
			result.Stdout = textOf(content)
		case 3<<3 | 2:
			result.Stderr = textOf(content)
		case 4 << 3:
			result.Signal = int(int32(value & math.MaxUint32))
		case 5 << 3:
			result.TimedOut = value != 0
		case 7 << 3:
			result.Truncated = value != 0
		}
	}
	return result, nil
}
