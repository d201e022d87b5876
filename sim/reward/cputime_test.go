package reward_test

import (
	"syscall"
	"testing"
	"time"
)

// children is the processor time of all processes that were started and waited for,
// and of this one.
func children(t testing.TB) time.Duration {
	var sum int64
	for _, who := range []int{syscall.RUSAGE_CHILDREN, syscall.RUSAGE_SELF} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			t.Fatal(err)
		}
		sum += u.Utime.Nano() + u.Stime.Nano()
	}
	return time.Duration(sum)
}
