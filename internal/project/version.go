package project

import "runtime/debug"

// devVersion is the version of a build from a checkout.
const devVersion = "0.1.0-dev"

// Version returns the module version of this build. A build from a checkout adds its commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devVersion
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return devVersion + "+" + s.Value[:12]
		}
	}
	return devVersion
}
