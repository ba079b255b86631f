package legacy

import (
	"errors"
	"strings"
)

var (
	errQuote     = runtimeError("No closing quotation")
	errEscape    = runtimeError("No escaped character")
	errNoCommand = errors.New("the command is empty")
)

// runtimeError has the exact message of the first runtime, which clients may compare.
type runtimeError string

func (e runtimeError) Error() string { return string(e) }

// splitWords splits a line like a POSIX shell, with quotes and backslashes but without any expansion.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\r', '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case '\\':
			if i++; i == len(line) {
				return nil, errEscape
			}
			word.WriteByte(line[i])
		case '\'', '"':
			end, err := quoted(line, i, &word)
			if err != nil {
				return nil, err
			}
			i = end
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errNoCommand
	}
	return words, nil
}

// quoted appends the text between the quote at start and its closing quote, whose index it returns.
func quoted(line string, start int, word *strings.Builder) (int, error) {
	quote := line[start]
	for i := start + 1; i < len(line); i++ {
		switch {
		case line[i] == quote:
			return i, nil
		case line[i] == '\\' && quote == '"' && i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\\'):
			i++
			word.WriteByte(line[i])
		default:
			word.WriteByte(line[i])
		}
	}
	return 0, errQuote
}
