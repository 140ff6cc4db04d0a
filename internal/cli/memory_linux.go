package cli

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetStart has the system take the pages of the program itself out of this process's memory, of which starting and
// loading have touched half: tens of megabytes, most of which are not needed again. Those that are come back from the
// system's cache of files. Mappings that can be or have been written to are left alone.
func forgetStart() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	var from, to uint64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), " ")
		if low, high, ok := strings.Cut(name, "-"); ok {
			from, to = 0, 0
			if perms, _, _ := strings.Cut(rest, " "); strings.HasSuffix(rest, " "+exe) && !strings.Contains(perms, "w") {
				from, _ = strconv.ParseUint(low, 16, 64)
				to, _ = strconv.ParseUint(high, 16, 64)
			}
			continue
		}
		if name == "Anonymous:" && strings.TrimSpace(rest) == "0 kB" && to > from {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(from), uintptr(to-from), unix.MADV_DONTNEED) // it is advice
		}
	}
}
