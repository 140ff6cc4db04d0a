package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/setting"
)

// TestSettingsAreComplete checks that each field of the settings has one row in the list, and each
// row a text.
func TestSettingsAreComplete(t *testing.T) {
	var all Settings
	rows := map[uintptr]int{}
	for _, s := range all.List() {
		rows[reflect.ValueOf(s.At).Pointer()]++
		if s.Help == "" || s.Key == "" && s.Flag == "" {
			t.Errorf("the setting %s%s has no help or no name", s.Key, s.Flag)
		}
	}
	var visit func(v reflect.Value, name string)
	visit = func(v reflect.Value, name string) {
		for i := range v.NumField() {
			f, name := v.Field(i), name+"."+v.Type().Field(i).Name
			_, isValue := reflect.TypeAssert[interface{ Set(string) error }](f.Addr())
			if f.Kind() == reflect.Struct && !isValue {
				visit(f, name)
			} else if n := rows[f.Addr().Pointer()]; n != 1 {
				t.Errorf("%s has %d rows in List of internal/config/settings.go, want one", name, n)
			}
		}
	}
	visit(reflect.ValueOf(&all).Elem(), "Settings")
}

// A 0 that is given is used or refused by name (F20): of all settings that are numbers, only those in
// the list have a meaning for it.
func TestF20_ZeroIsAValue(t *testing.T) {
	t.Parallel()
	used := map[string]bool{"retry": true}
	for _, resumed := range []bool{false, true} {
		var all Settings // each number is 0, as after --flag 0
		for _, s := range all.List() {
			switch s.At.(type) {
			case *int, *int64, *float64, *setting.Milliseconds:
			default:
				continue // a text, a switch, or an Optional, which knows whether it is set
			}
			err := s.Check(resumed)
			switch {
			case used[s.Flag], resumed && s.NoLimit:
				if err != nil {
					t.Errorf("--%s 0 is refused: %v", s.Flag, err)
				}
			case err == nil:
				t.Errorf("--%s 0 is ignored", s.Flag)
			case !strings.Contains(err.Error(), "--"+s.Flag+" "):
				t.Errorf("--%s 0: the error names another flag: %v", s.Flag, err)
			}
		}
	}
}
