package modelapi

// Wires is for tests in a package of their own.
func Wires(address string) []Config { return wires(address) }
