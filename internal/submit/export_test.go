package submit

import (
	"reflect"
	"strings"
)

// Refuse is refuse.
var Refuse = refuse

// Lists returns the names of the fields on each list, by type: those that stay at scores, at answers,
// and only at sessions.
func Lists() map[reflect.Type][3][]string {
	all := map[reflect.Type][3][]string{}
	for t, f := range lists() {
		names := func(list string) []string {
			return strings.Fields(strings.NewReplacer("~", "", "#", "").Replace(list))
		}
		all[t] = [3][]string{names(f.scores), names(f.answers), names(f.sessions)}
	}
	return all
}
