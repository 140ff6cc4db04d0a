package agentcli

import "strings"

// recentMost is how many entries a [recent] holds before it begins to forget.
const recentMost = 1 << 14

// recent is a map that forgets what was set long ago, so that it stays small whatever an agent prints. An entry is kept
// until at least recentMost others were set after it.
type recent[V any] struct{ now, before map[string]V }

// get returns what was set last.
func (m *recent[V]) get(k string) (V, bool) {
	if v, ok := m.now[k]; ok {
		return v, true
	}
	v, ok := m.before[k]
	return v, ok
}

// set keeps a copy of the key, which may be a part of a long line.
func (m *recent[V]) set(k string, v V) {
	if _, ok := m.now[k]; !ok {
		if len(m.now) >= recentMost {
			m.now, m.before = nil, m.now
		}
		if m.now == nil {
			m.now = map[string]V{}
		}
		k = strings.Clone(k)
	}
	m.now[k] = v
}
