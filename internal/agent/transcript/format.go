// Package transcript turns the record of one session of an agent into a session report. A
// [Recorder] has the rules that all agents share: what counts once, how texts and lists are
// bounded, which skills were used, how a session ended. The package of each agent reads its formats
// and calls the recorder.
package transcript

// Format describes how the transcripts of one agent are read.
type Format struct {
	// Name is the agent's type in configurations.
	Name string
	// Login is the command that logs the user in. KeyHelp names the environment variables that can
	// hold a key.
	Login, KeyHelp string
	// Read reads the transcript of a recorder into it. It returns an error for a file that cannot
	// be read. A failure that the agent reports goes to the recorder.
	Read func(r *Recorder) error
	// Step counts the steps in one record of the stream.
	Step func(s *Steps, rec *Fields)
	// Terminal are the types of the records that end a session. An agent without such a record has
	// none, and NoTerminal.
	Terminal   []string
	NoTerminal bool
}
