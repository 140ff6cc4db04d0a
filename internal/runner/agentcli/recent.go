package agentcli

import "hash/maphash"

// recentMost is how many entries a [recent] holds before it begins to forget.
const recentMost = 1 << 14

// recent is a map that forgets what was set long ago, so that it stays small whatever an agent prints. An entry is kept
// until at least recentMost others were set after it. Hashes stand for the keys.
type recent[V any] struct {
	now, before map[uint64]V
	// The last entry is asked for again and again.
	key   uint64
	last  V
	known bool
}

// get returns what was set last.
func (m *recent[V]) get(k string) (V, bool) {
	h := maphash.String(hashing, k)
	if m.known && h == m.key {
		return m.last, true
	}
	v, ok := m.now[h]
	if !ok {
		v, ok = m.before[h]
	}
	if ok {
		m.key, m.last, m.known = h, v, true
	}
	return v, ok
}

// set keeps a value.
func (m *recent[V]) set(k string, v V) {
	h := maphash.String(hashing, k)
	m.key, m.last, m.known = h, v, true
	if _, ok := m.now[h]; !ok {
		if len(m.now) >= recentMost {
			m.now, m.before = nil, m.now
		}
		if m.now == nil {
			m.now = map[uint64]V{}
		}
	}
	m.now[h] = v
}
