package transcript

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Resolve makes a path of a transcript absolute. A relative path starts at base. It returns "" for
// an empty path. Forward slashes stay on every platform, because the transcript may come from
// another one.
func Resolve(base, name string) string {
	name = strings.TrimPrefix(strings.TrimSpace(name), "file://")
	if name == "" {
		return ""
	}
	if strings.HasPrefix(name, "/") {
		clean := path.Clean(name)
		if strings.HasSuffix(name, "/") && clean != "/" {
			clean += "/"
		}
		return clean
	}
	if Absolute(name) {
		return filepath.Clean(name)
	}
	if strings.HasPrefix(base, "/") || base == "" {
		return path.Join(base, name)
	}
	return filepath.Join(base, name)
}

// Absolute reports whether a path, possibly of another platform, starts at a root directory.
func Absolute(name string) bool {
	return strings.HasPrefix(name, "/") || filepath.IsAbs(name) || strings.HasPrefix(name, `\\`) ||
		len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/') && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
}

// BaseName is [path.Base] for paths of any platform.
func BaseName(name string) string {
	return name[strings.LastIndexAny(name, `/\`)+1:]
}

// skillOf returns the skill of a SKILL.md, which is the name of its directory, and "" for any other
// file.
func skillOf(name string) string {
	if BaseName(name) != "SKILL.md" {
		return ""
	}
	return BaseName(strings.TrimRight(strings.TrimSuffix(name, "SKILL.md"), `/\`))
}

// Exists reports whether a file or directory exists.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
