package ports

import "testing"

func TestParseLine(t *testing.T) {
	line := "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0000000000000000 100 0 0 10 0"
	if got, ok := parseLine(line); !ok || got.Port != 8080 || got.Address != "127.0.0.1" || got.inode != "12345" {
		t.Errorf("got %+v, %v", got, ok)
	}
	six := "   1: 00000000000000000000000001000000:0BB8 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 7 1"
	if got, ok := parseLine(six); !ok || got.Port != 3000 || got.Address != "::1" {
		t.Errorf("got %+v, %v", got, ok)
	}
	for _, bad := range []string{
		"", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
		"0: 0100007F:1F90 00000000:0000 01 0 0 0 0 0 1", "0: xyz:1F90 0:0 0A 0 0 0 0 0 1", "0: 0100007F:99999 0:0 0A 0 0 0 0 0 1", "0: 01:1F90 0:0 0A 0 0 0 0 0 1",
	} {
		if got, ok := parseLine(bad); ok {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}
