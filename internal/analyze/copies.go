package analyze

// Copies returns the indexes of the cases that are copies of an earlier one of n cases: they have the
// same hash, which means the same prompt and the same checks. A case whose hash is "" is no copy.
//
// The results of copies are not independent of each other, so figures count only one of them: a suite
// whose lines are doubled shows no more than before.
func Copies(n int, hash func(i int) string) (copies map[int]int) {
	copies = map[int]int{}
	first := map[string]int{}
	for i := range n {
		h := hash(i)
		if at, ok := first[h]; ok && h != "" {
			copies[i] = at
			continue
		}
		first[h] = i
	}
	return copies
}
