package script

import "golang.org/x/sys/unix"

func platformInfo(info map[string]any) {
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) == nil {
		info["uptime"], info["memory"] = s.Uptime, s.Totalram*uint64(s.Unit)
	}
}
