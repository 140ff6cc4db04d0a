package drift

// Detector is the state of a panel, for tests from outside.
type Detector = panel

// RestorePanel restores a panel.
func RestorePanel(r Rules, epochs map[string]int) *Detector { return restorePanel(r, epochs) }
