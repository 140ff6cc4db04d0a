package script

import (
	"context"
	"errors"
	"strconv"

	"modernc.org/quickjs"
)

// startImport bundles what import(expression) names, as seen from file, and resolves a promise with the bundle's number,
// or with the name of a built-in module.
func (vm *VM) startImport(id int, specifier, file string) error {
	vm.goAsync(id, "import", func(context.Context) (any, error) {
		return nil, errors.New("not yet: " + specifier + file)
	})
	return nil
}

func (vm *VM) runImport(number string) (quickjs.Value, error) {
	i, err := strconv.Atoi(number)
	if err != nil || i >= len(vm.bundles) {
		return quickjs.Value{}, errNoImport
	}
	return vm.eng.eval(bundleName(i), string(vm.bundles[i].program.Code))
}

func (vm *VM) startAsync(id int, op string, a args) error {
	return errors.New("not yet")
}

func (vm *VM) library(op string, a args) (any, error) {
	switch op {
	case "write":
		w := vm.o.Stdout
		if a.int(0) == 2 {
			w = vm.o.Stderr
		}
		if w != nil {
			_, err := w.Write([]byte(vm.mapText(a.str(1))))
			return nil, err
		}
		return nil, nil
	}
	return nil, errors.New("not yet: " + op)
}
