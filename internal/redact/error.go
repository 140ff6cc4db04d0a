package redact

import "github.com/plumb-eval/plumb"

// Error returns err with the secrets removed from its text and its hint. The result still matches
// what err matches with [errors.Is] and [errors.As].
func (r *Redactor) Error(err error) error {
	if err == nil || !r.Hides() {
		return err
	}
	return &hiddenError{err, r.String(err.Error()), r.String(plumb.Hint(err))}
}

type hiddenError struct {
	error
	text, hint string
}

func (h *hiddenError) Error() string  { return h.text }
func (h *hiddenError) Unwrap() error  { return h.error }
func (h *hiddenError) Advice() string { return h.hint }
