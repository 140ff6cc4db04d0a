package agentcli

func normaliseOpencode(t *Transcript, r *recorder) error { return nil }
func normaliseCopilot(t *Transcript, r *recorder) error  { return nil }
func normaliseGemini(t *Transcript, r *recorder) error   { return nil }
func normaliseCodex(t *Transcript, r *recorder) error    { return nil }
func normaliseClaude(t *Transcript, r *recorder) error   { return nil }
func normaliseCursor(t *Transcript, r *recorder) error   { return nil }
func normaliseQwen(t *Transcript, r *recorder) error     { return nil }
