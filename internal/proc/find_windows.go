package proc

// Find returns nothing: on Windows a job object ends what belongs to a program when this process ends.
func Find(func(marker, runDir string) bool) ([]Process, error) { return nil, nil }
