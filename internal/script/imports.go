package script

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"modernc.org/quickjs"
)

// startImport bundles the target of import(expression) in file, and resolves a promise with the
// number of the bundle, or with the name of a built-in or additional module. A file is bundled
// once for a VM and its copies. The bundled copy is separate from a module that is already loaded, and has its own state.
func (vm *VM) startImport(id int, specifier, file string) {
	name := strings.TrimPrefix(specifier, "node:")
	_, additional := vm.o.Modules[specifier]
	known := map[string]bool{}
	for module := range vm.o.Modules {
		known[module] = true
	}
	vm.goAsync(id, "import", func(context.Context) (any, error) {
		if additional {
			return specifier, nil
		}
		if builtins(name) {
			return name, nil
		}
		key := [2]string{specifier, file}
		built, ok := vm.original.files.Load(key)
		if !ok {
			p, err := buildImport(specifier, file, BuildOptions{Modules: known})
			if err != nil {
				return nil, &hostError{
					Code:    "ERR_MODULE_NOT_FOUND",
					Message: fmt.Sprintf("Cannot import %q from %s: %v", specifier, file, err),
				}
			}
			built, _ = vm.original.files.LoadOrStore(key, newBundle(p))
		}
		imported := built.(*bundle) //nolint:forcetypeassert // only bundles are stored
		found := make(chan int)
		vm.post(func() {
			for i, b := range vm.bundles {
				if i > 0 && b.program.Entry == imported.program.Entry {
					found <- i
					return
				}
			}
			vm.bundles = append(vm.bundles, imported)
			found <- len(vm.bundles) - 1
		})
		select {
		case i := <-found:
			return i, nil
		case <-vm.done:
			return nil, ErrClosed
		}
	})
}

func (vm *VM) runImport(number string) (quickjs.Value, error) {
	i, err := strconv.Atoi(number)
	if err != nil || i >= len(vm.bundles) {
		return quickjs.Value{}, errNoImport
	}
	return vm.eng.eval(bundleName(i), string(vm.bundles[i].program.Code))
}

// buildImport bundles one module for import(expression).
func buildImport(specifier, file string, o BuildOptions) (*Program, error) {
	path := specifier
	switch {
	case strings.HasPrefix(specifier, "file:"):
		path = filePath(specifier)
	case strings.HasPrefix(specifier, "./"), strings.HasPrefix(specifier, "../"):
		path = filepath.Join(filepath.Dir(file), filepath.FromSlash(specifier))
	}
	o.Entry = path
	return build(o, filepath.Dir(file))
}
