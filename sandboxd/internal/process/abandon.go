package process

import "time"

// KillWhenAbandoned kills the process tree when nothing has read its output for this time.
func (p *Process) KillWhenAbandoned(after time.Duration) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	for {
		select {
		case <-p.Done():
			return
		case <-timer.C:
		}
		left := after - p.Log.Unread()
		if left <= 0 {
			p.KillTreeUnlessEnded()
			return
		}
		timer.Reset(left)
	}
}
