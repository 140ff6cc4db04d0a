package config

import (
	"reflect"
	"testing"
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
