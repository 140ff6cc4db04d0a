package plumb

// Share is how much of its run a log holds. A log that leaves a machine has lost what its author did
// not agree to share.
type Share string

// The levels of sharing. Each holds what the one before holds. ShareScores leaves out all texts of
// prompts and answers, ShareAnswers has the answers and the messages of the checks, and
// ShareSessions is the whole log.
const (
	ShareScores   Share = "scores"
	ShareAnswers  Share = "answers"
	ShareSessions Share = "sessions"
)

// Shares returns the levels, the smallest first.
func Shares() []Share { return []Share{ShareScores, ShareAnswers, ShareSessions} }

// Whole reports whether a log of this level has all that was recorded. "" is the level of a log
// that did not leave its machine.
func (s Share) Whole() bool { return s == "" || s == ShareSessions }

// NotShared stands for a text that a log does not share.
const NotShared = "not shared"

// note tells the reader of a run what its log leaves out.
func (s Share) note() Note {
	n := Note{Level: "info", Text: "The log of this run has only scores: prompts, answers and messages are not shared."}
	if s == ShareAnswers {
		n.Text = "The log of this run has scores and answers: prompts and the course of the sessions are not shared."
	}
	return n
}
