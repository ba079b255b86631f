package usage

import (
	"os"
	"testing"
)

func TestProcessTicks(t *testing.T) {
	stat := "7 (a) b) c) S 1 7 7 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 5 6 7"
	if got := processTicks(stat); got != 100 {
		t.Errorf("got %v", got)
	}
	for _, bad := range []string{"", "7 (x) S", ")"} {
		if got := processTicks(bad); got != 0 {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

func TestRead(t *testing.T) {
	report := Read(os.TempDir())
	if report.CPU.UsedSeconds <= 0 || report.CPU.LimitCores <= 0 || report.Memory.UsedBytes == 0 || report.Processes.Count == 0 || report.Disk.TotalBytes == 0 {
		t.Errorf("got %+v", report)
	}
	if sumCPUSeconds() <= 0 {
		t.Error("the sum over all processes is nothing")
	}
}
