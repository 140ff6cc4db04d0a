package script

import (
	"slices"
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// shared describes what all code in an engine shares, at one time: the objects of the language,
// such as String.prototype, and the names of the global object.
//
// It is read from the memory of the engine, since code could replace the functions with which a
// script would read it, and since a comparison then takes some hundred microseconds at most.
type shared struct {
	objects []sharedObject
	// seen has the addresses of objects.
	seen map[uintptr]bool
	// language has the names of the global object that the engine has without the prelude.
	language map[lib.TJSAtom]bool
}

// sharedObject is an object and its own properties, in their order.
type sharedObject struct {
	address uintptr
	// parent is the index of the object that refers to it with the key, -1 for a root.
	parent int
	key    lib.TJSAtom
	// global is set for the two objects with global names.
	global bool

	proto      uintptr
	extensible bool
	properties []property
}

// property is an own property: its flags, and the words of its value or its accessors.
type property struct {
	atom  lib.TJSAtom
	flags uint32
	words [2]uintptr
}

// The bits of the flags of a property that tell its form, and the forms besides a value.
const (
	formMask     = 0x30
	formAccessor = 0x10
	formVariable = 0x20 // the property is a variable of the engine
	formLater    = 0x30 // the engine creates the value at the first use
)

// snapshot describes the shared objects as they are now, and keeps their values and keys alive, so
// that no other value can have the same address.
func (e *engine) snapshot() *shared {
	s := &shared{seen: map[uintptr]bool{}, language: e.language}
	context := (*lib.TJSContext)(unsafe.Add(nil, e.context))
	s.add(e, pointer(context.Fglobal_obj), -1, 0)
	s.add(e, pointer(context.Fglobal_var_obj), -1, 0)
	s.objects[0].global, s.objects[1].global = true, true
	s.follow(e, 0)
	// What has no global name, such as the prototypes of iterators.
	count := int((*lib.TJSRuntime)(unsafe.Add(nil, e.runtime)).Fclass_count)
	for _, proto := range unsafe.Slice((*lib.TJSValue)(unsafe.Add(nil, context.Fclass_proto)), count) {
		if isObject(proto) {
			next := len(s.objects)
			s.add(e, pointer(proto), -1, 0)
			s.follow(e, next)
		}
	}
	return s
}

// follow adds the objects that the recorded ones refer to, from an index on.
func (s *shared) follow(e *engine, from int) {
	for i := from; i < len(s.objects); i++ {
		it := s.objects[i]
		if it.proto != 0 {
			s.add(e, it.proto, i, 0)
		}
		for _, p := range it.properties {
			// The other global names are the host's, which loads them when they are used.
			if it.global && !s.language[p.atom] {
				continue
			}
			for _, address := range p.refers() {
				s.add(e, address, i, p.atom)
			}
		}
	}
}

// refers returns the objects to which a property refers.
func (p *property) refers() []uintptr {
	if p.flags&formMask == formAccessor {
		return slices.DeleteFunc(p.words[:], func(address uintptr) bool { return address == 0 })
	}
	if v := *(*lib.TJSValue)(unsafe.Pointer(&p.words)); isObject(v) {
		return []uintptr{pointer(v)}
	}
	return nil
}

// add records an object.
func (s *shared) add(e *engine, address uintptr, parent int, key lib.TJSAtom) {
	if s.seen[address] {
		return
	}
	s.seen[address] = true
	o := (*lib.TJSObject)(unsafe.Add(nil, address))
	if int(o.Fclass_id) == int(lib.EJS_CLASS_PROXY) { // the constructors of errors; see prelude/errors.ts
		if target := (*lib.TJSProxyData)(unsafe.Add(nil, *(*uintptr)(unsafe.Pointer(&o.Fu)))).Ftarget; isObject(target) {
			s.add(e, pointer(target), parent, key)
		}
		return
	}
	e.complete(address)
	it := e.look(address)
	it.parent, it.key = parent, key
	e.hold(&it)
	s.objects = append(s.objects, it)
}

// hold keeps the values and the keys of an object alive until the engine is closed.
func (e *engine) hold(it *sharedObject) {
	for i := range it.properties {
		p := &it.properties[i]
		e.atoms = append(e.atoms, lib.XJS_DupAtom(e.tls, e.context, p.atom))
		for _, address := range p.refers() {
			v := objectAt(address)
			lib.XDupValue(e.tls, e.context, v)
			e.values = append(e.values, v)
		}
	}
}

// look reads an object.
func (e *engine) look(address uintptr) sharedObject {
	o := (*lib.TJSObject)(unsafe.Add(nil, address))
	shape := (*lib.TJSShape)(unsafe.Add(nil, o.Fshape))
	it := sharedObject{
		address: address, proto: shape.Fproto, extensible: lib.XJS_IsExtensible(e.tls, e.context, objectAt(address)) != 0,
		properties: make([]property, 0, shape.Fprop_count),
	}
	for i, key := range keys(shape) {
		if key.Fatom == 0 { // it was deleted
			continue
		}
		at := o.Fprop + uintptr(i)*unsafe.Sizeof(lib.TJSProperty{})
		p := property{key.Fatom, key.F__ccgo0 >> 26, *(*[2]uintptr)(unsafe.Add(nil, at))}
		if p.flags&formMask == formVariable {
			p.words = *(*[2]uintptr)(unsafe.Add(nil, (*lib.TJSVarRef)(unsafe.Add(nil, p.words[0])).Fpvalue))
		}
		it.properties = append(it.properties, p)
	}
	return it
}

// keys returns the keys of the properties of a shape.
func keys(shape *lib.TJSShape) []lib.TJSShapeProperty {
	table := unsafe.Add(unsafe.Pointer(shape), unsafe.Sizeof(*shape)+(uintptr(shape.Fprop_hash_mask)+1)*4)
	return unsafe.Slice((*lib.TJSShapeProperty)(table), shape.Fprop_count)
}

// complete creates the values of an object that the engine creates at their first use.
func (e *engine) complete(address uintptr) {
	o := (*lib.TJSObject)(unsafe.Add(nil, address))
	for i := 0; ; i++ {
		all := keys((*lib.TJSShape)(unsafe.Add(nil, o.Fshape))) // reading a property may replace the shape
		if i >= len(all) {
			return
		}
		if all[i].Fatom != 0 && all[i].F__ccgo0>>26&formMask == formLater {
			v := objectAt(address)
			e.free(lib.XJS_GetPropertyInternal(e.tls, e.context, v, all[i].Fatom, v, 0))
		}
	}
}

func isObject(v lib.TJSValue) bool { return v.Ftag == int64(lib.EJS_TAG_OBJECT) }

// pointer returns the address of an object, and objectAt the object at an address.
func pointer(v lib.TJSValue) uintptr { return *(*uintptr)(unsafe.Pointer(&v.Fu)) }

func objectAt(address uintptr) lib.TJSValue {
	v := lib.TJSValue{Ftag: int64(lib.EJS_TAG_OBJECT)}
	*(*uintptr)(unsafe.Pointer(&v.Fu)) = address
	return v
}

// changed compares the shared objects with a snapshot, and returns the first difference in words
// that follow "cannot"; "" if nothing has changed.
func (e *engine) changed(s *shared) string {
	for i := range s.objects {
		was := &s.objects[i]
		now := e.look(was.address)
		if now.proto != was.proto || now.extensible != was.extensible {
			return "change " + s.path(e, i)
		}
		if slices.Equal(now.properties, was.properties) {
			continue
		}
		before := map[lib.TJSAtom]property{}
		for _, p := range was.properties {
			before[p.atom] = p
		}
		for _, p := range now.properties {
			old, known := before[p.atom]
			delete(before, p.atom)
			if known && old == p || was.global && !s.ours(e, p.atom, known) {
				continue
			}
			if was.global && !known {
				return "set the global " + quote(e.atom(p.atom)) + ": declare it with const"
			}
			return "change " + s.path(e, i) + e.member(p.atom)
		}
		for atom := range before {
			if !was.global || s.ours(e, atom, true) {
				return "delete " + s.path(e, i) + e.member(atom)
			}
		}
	}
	return ""
}

// ours reports whether a global name must not change: a name of the language, or a new one. The
// prelude replaces the names of the host when they are first used.
func (s *shared) ours(e *engine, atom lib.TJSAtom, known bool) bool {
	return s.language[atom] || !known && !strings.HasPrefix(e.atom(atom), "__plumb")
}

// path names an object as a script does.
func (s *shared) path(e *engine, i int) string {
	it := &s.objects[i]
	switch {
	case it.global:
		return "globalThis"
	case it.parent < 0:
		return "an object of the language"
	}
	at := s.path(e, it.parent)
	if it.key == 0 {
		return at + ".__proto__"
	}
	if at += e.member(it.key); s.objects[it.parent].global {
		return strings.TrimPrefix(at, "globalThis.")
	}
	return at
}

// member returns how a script writes a property of an object.
func (e *engine) member(a lib.TJSAtom) string {
	text := e.atom(a)
	if strings.HasPrefix(text, "Symbol.") {
		return "[" + text + "]"
	}
	return "." + text
}

// atom returns the text of a property's key.
func (e *engine) atom(a lib.TJSAtom) string {
	text := lib.XJS_AtomToCStringLen(e.tls, e.context, 0, a)
	if text == 0 {
		e.free(lib.XJS_GetException(e.tls, e.context))
		return "?"
	}
	defer lib.XJS_FreeCString(e.tls, e.context, text)
	return strings.Clone(libc.GoString(text))
}

// update records the present state of the known objects, after the host has changed some.
func (e *engine) update(s *shared) {
	for i := range s.objects {
		o := &s.objects[i]
		now := e.look(o.address)
		e.hold(&now)
		o.proto, o.extensible, o.properties = now.proto, now.extensible, now.properties
	}
}

// names returns the names that the global object has now, and keeps them alive.
func (e *engine) names() map[lib.TJSAtom]bool {
	names := map[lib.TJSAtom]bool{}
	global := e.look(pointer((*lib.TJSContext)(unsafe.Add(nil, e.context)).Fglobal_obj))
	for _, p := range global.properties {
		names[p.atom] = true
		e.atoms = append(e.atoms, lib.XJS_DupAtom(e.tls, e.context, p.atom))
	}
	return names
}

// release frees what snapshots keep alive.
func (e *engine) release() {
	for _, v := range e.values {
		e.free(v)
	}
	for _, a := range e.atoms {
		lib.XJS_FreeAtom(e.tls, e.context, a)
	}
	e.values, e.atoms = nil, nil
}
