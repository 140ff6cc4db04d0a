package agentcli

// Format says how the transcripts of one agent are read.
type Format struct {
	// Name is the agent's type in configurations.
	Name string
	// Login is the command that logs the user in. KeyHelp names the environment variables that can hold a key.
	Login, KeyHelp string
	// Read reads a transcript into a recorder. Its error says that a file could not be read; what the agent reports of its
	// own failure goes to the recorder.
	Read func(t *Transcript, r *recorder) error
	// Step counts the steps in one record of the stream.
	Step func(s *steps, rec *fields)
	// Terminal are the types of the records that end a session. An agent without such a record has none, and NoTerminal.
	Terminal   []string
	NoTerminal bool
}
