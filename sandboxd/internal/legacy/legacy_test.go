package legacy

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		"a b":            {"a", "b"},
		"  a\t\n b  ":    {"a", "b"},
		`a'b c'd`:        {"ab cd"},
		`"a \"b\" \\ c"`: {`a "b" \ c`},
		`"a \n $x"`:      {`a \n $x`},
		`'a \' b`:        {`a \`, "b"},
		`\a\ b`:          {"a b"},
		`'' ""`:          {"", ""},
		"a > b | c && d": {"a", ">", "b", "|", "c", "&&", "d"},
		"é 'ü'":          {"é", "ü"},
	} {
		if got, err := splitWords(line); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("splitWords(%q) = %q, %v, want %q", line, got, err, want)
		}
	}
	for line, want := range map[string]error{"'a": errQuote, `"a`: errQuote, `a\`: errEscape, "": errNoCommand, " \n": errNoCommand} {
		if got, err := splitWords(line); !errors.Is(err, want) {
			t.Errorf("splitWords(%q) = %q, %v, want %v", line, got, err, want)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	for _, seed := range []string{`a "b`, `\`, `'"'"'`, "a\x00b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := splitWords(line)
		if err == nil && len(words) == 0 {
			t.Error("no words and no error")
		}
		if err != nil {
			return
		}
		// Quoting and splitting again returns the same words.
		var quoted []string
		for _, word := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(word, "'", `'"'"'`)+"'")
		}
		if again, err := splitWords(strings.Join(quoted, " ")); err != nil || !reflect.DeepEqual(again, words) {
			t.Errorf("%q becomes %q, %v", words, again, err)
		}
	})
}

func FuzzReadCommand(f *testing.F) {
	for _, seed := range []string{`{"command":"x"}`, `{}`, `[`, `{"command":"x","timeout_seconds":1e999}`, `null`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		request := httptest.NewRequest(http.MethodPost, "/execute", bytes.NewReader(body))
		command, complaint, err := readCommand(httptest.NewRecorder(), request)
		if err == nil && complaint == nil && (command.timeout < 0 || timeLimit(command, "") <= 0) {
			t.Errorf("%q is accepted as %+v", body, command)
		}
	})
}

func TestTimeLimit(t *testing.T) {
	for _, c := range []struct {
		asked              float64
		header, configured string
		want               time.Duration
	}{
		{0, "", "", 300 * time.Second},
		{0, "20", "", 20 * time.Second},
		{5, "20", "", 5 * time.Second},
		{20, "5", "", 5 * time.Second},
		{600, "", "", 600 * time.Second},
		{600, "", "100", 100 * time.Second},
		{0, "", "0.5", 500 * time.Millisecond},
		{0, "-1", "", 300 * time.Second},
		{0, "x", "nan", 300 * time.Second},
		{0, "inf", "-3", 300 * time.Second},
		{1e300, "", "", 300 * time.Second},
	} {
		t.Setenv(limitVariable, c.configured)
		if got := timeLimit(command{timeout: c.asked}, c.header); got != c.want {
			t.Errorf("%+v gives %v", c, got)
		}
	}
}

func TestBaseDirectory(t *testing.T) {
	dir := t.TempDir()
	h := New(nil, nil, dir)
	for configured, want := range map[string]string{"/srv": "/srv", " /srv ": "/srv"} {
		t.Setenv(baseVariable, configured)
		if got := h.baseDir(); got != want {
			t.Errorf("%q gives %q", configured, got)
		}
	}
}

// Proxies may have a timeout for headers that is shorter than a command.
func TestTheHeadOfALongAnswerIsSentEarly(t *testing.T) {
	h := New(nil, nil, "")
	h.headersAfter = time.Millisecond
	answer := make(chan result)
	recorder := &flushRecorder{ResponseRecorder: httptest.NewRecorder(), flushed: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		h.answer(recorder, answer)
		close(done)
	}()
	<-recorder.flushed
	if recorder.Code != http.StatusOK || recorder.Header().Get("Content-Type") != "application/json" {
		t.Errorf("the head is %d %v", recorder.Code, recorder.Header())
	}
	answer <- result{Stdout: "late"}
	<-done
	if body := recorder.Body.String(); body != `{"stdout":"late","stderr":"","exit_code":0}` {
		t.Errorf("the body is %s", body)
	}
}

type flushRecorder struct {
	*httptest.ResponseRecorder
	flushed chan struct{}
}

func (r *flushRecorder) Flush() {
	r.ResponseRecorder.Flush()
	close(r.flushed)
}
