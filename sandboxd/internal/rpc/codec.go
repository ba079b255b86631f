package rpc

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonCodec replaces Connect's JSON codec. It removes the spaces that protojson writes after commas in some builds and not in
// others, so that the same message has the same bytes on every machine.
type jsonCodec struct{ name string }

func (c jsonCodec) Name() string { return c.name }

func (c jsonCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend is what Connect calls if a codec has it, with a buffer of its pool.
func (c jsonCodec) MarshalAppend(buffer []byte, message any) ([]byte, error) {
	known, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protobuf message", message)
	}
	encoded, err := protojson.MarshalOptions{}.MarshalAppend(buffer, known)
	if err != nil {
		return nil, err
	}
	return encoded[:len(buffer)+len(compact(encoded[len(buffer):]))], nil
}

// Unmarshal ignores unknown fields, as Connect's codec does, so that newer clients work.
func (c jsonCodec) Unmarshal(encoded []byte, message any) error {
	known, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a protobuf message", message)
	}
	if len(encoded) == 0 {
		return errors.New("zero-length payload is not a valid JSON object")
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(encoded, known)
}

// compact removes the spaces between the tokens of valid JSON, in place. It skips over strings, which are most of a message
// with output, many times as fast as json.Compact reads them.
func compact(encoded []byte) []byte {
	kept := encoded[:0]
	for rest := encoded; len(rest) > 0; {
		text := bytes.IndexByte(rest, '"')
		if text < 0 {
			text = len(rest)
		}
		for _, character := range rest[:text] {
			if character != ' ' {
				kept = append(kept, character)
			}
		}
		rest = rest[text:]
		end := stringLength(rest)
		kept = append(kept, rest[:end]...)
		rest = rest[end:]
	}
	return kept
}

// stringLength returns the length of the JSON string, with its quotes, that begins here.
func stringLength(encoded []byte) int {
	for end := 1; end < len(encoded); {
		quote := bytes.IndexByte(encoded[end:], '"')
		if quote < 0 {
			break
		}
		before := bytes.TrimRight(encoded[end:end+quote], `\`)
		end += quote + 1
		if (quote-len(before))%2 == 0 {
			return end
		}
	}
	return len(encoded)
}
