package parts

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// A Machine is what there is to compute with.
type Machine struct {
	Cores  int   // goroutines that run at once: what the system, or a container, allows
	Memory int64 // bytes; 0 where the system does not say
}

// Here returns the machine that this process runs on.
func Here() Machine { return Machine{runtime.GOMAXPROCS(0), memory("/proc/meminfo")} }

// memory reads the memory of a machine, in bytes, from the file in which Linux says
// it; 0 where there is none.
func memory(path string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) != 3 || words[0] != "MemTotal:" || words[2] != "kB" {
			continue
		}
		kilobytes, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return 0
		}
		return kilobytes << 10
	}
	return 0
}
