package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb/internal/config"
)

// TestFlagsAndConfigAgree checks that each flag of plumb run that describes the run is a key of the
// config, and the reverse.
func TestFlagsAndConfigAgree(t *testing.T) {
	var f runFlags
	cmd := &cobra.Command{Use: "run"}
	f.register(cmd)
	var flags []string
	cmd.Flags().VisitAll(func(fl *pflag.Flag) {
		if !fl.Hidden && !slices.Contains([]string{ // these are for one command only, or have another place in the config
			"config", "plan", "update-snapshots", "agent", "inherit-config", "cwd", "workspace", "template", "max-steps", "snapshots",
		}, fl.Name) {
			flags = append(flags, fl.Name)
		}
	})
	slices.Sort(flags)
	values := configValues(&config.RunConfig{})
	var keys []string
	for name, v := range values {
		keys = append(keys, name)
		if len(v) > 0 {
			t.Errorf("an empty config has %q for --%s", v, name)
		}
	}
	slices.Sort(keys)
	if !slices.Equal(flags, keys) {
		t.Errorf("flags  %v\nconfig %v", flags, keys)
	}
}

// TestEachConfigValueReachesItsFlag sets each field of the config alone, and expects one flag
// value.
func TestEachConfigValueReachesItsFlag(t *testing.T) {
	fields := reflect.TypeFor[config.RunConfig]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if name == "Redact" { // not a flag: the names of variables belong to the project
			continue
		}
		var c config.RunConfig
		set(t, reflect.ValueOf(&c).Elem().Field(i))
		values := 0
		for _, v := range configValues(&c) {
			values += len(v)
		}
		if values != 1 {
			t.Errorf("run.%s%s reaches %d flags, want one", strings.ToLower(name[:1]), name[1:], values)
		}
	}
}

func set(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(1000)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.ValueOf([]string{"x"}))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(t, v.Elem())
	default:
		t.Fatalf("no value for a %s", v.Type())
	}
}
