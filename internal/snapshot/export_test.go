package snapshot

// Changed counts the new and changed baselines that are not saved yet.
func (b *Baselines) Changed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.measured)
}
