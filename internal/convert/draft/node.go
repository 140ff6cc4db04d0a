package draft

import (
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// Node is a value of a file that is converted. One without a value stands for a key that is not
// there.
type Node struct {
	File string
	*doc.Value
}

// OK reports whether the key is there, and not with null.
func (n Node) OK() bool { return n.Value != nil && n.Kind != doc.Null }

// Is reports whether the key is there with a value of one of these kinds.
func (n Node) Is(kinds ...doc.Kind) bool { return n.Value != nil && slices.Contains(kinds, n.Kind) }

// Get returns the value of a key of a mapping.
func (n Node) Get(key string) Node {
	if n.Value == nil {
		return n
	}
	return Node{n.File, n.Value.Get(key)}
}

// All returns the elements of a list.
func (n Node) All() (all []Node) {
	if n.Value != nil {
		for i := range n.List {
			all = append(all, Node{n.File, &n.List[i]})
		}
	}
	return all
}

// Keys returns the members of a mapping.
func (n Node) Keys() []doc.Member {
	if n.Value == nil {
		return nil
	}
	return n.Members
}

// Text returns the text of a string, a number or a boolean.
func (n Node) Text() string {
	if n.Value == nil {
		return ""
	}
	return n.Value.Text()
}

// At returns the place of the value.
func (n Node) At() plumb.Position {
	if n.Value == nil {
		return plumb.Position{File: n.File}
	}
	return n.In(n.File)
}

// Chat returns a list of messages, each with a role and a text; nil for any other value.
func Chat(v *doc.Value) (messages []doc.Value) {
	known := []string{plumb.RoleSystem, plumb.RoleDeveloper, plumb.RoleUser, plumb.RoleAssistant}
	for _, m := range v.List {
		role, content := m.Get("role"), m.Get("content")
		if len(m.Members) != 2 || role == nil || content == nil || content.Kind != doc.String ||
			!slices.Contains(known, role.Text()) {
			return nil
		}
		messages = append(messages, doc.Value{Kind: doc.Map, Members: []doc.Member{
			{Key: "role", Value: *role}, {Key: "content", Value: *content},
		}})
	}
	return messages
}
