package run

import "github.com/plumb-eval/plumb"

// pending holds the sessions so far of an execution that is not finished, by repetition.
type pending map[int][]session

// session is one session of a repetition. A nil judgement means that it is not judged yet. A
// session that this process performed holds the original report for the judgement; one that was
// read from the log has no secrets.
type session struct {
	number    int
	report    *plumb.SessionReport
	stored    *plumb.SessionReport // the report as the log has it, without secrets
	failure   *plumb.Failure
	judgement *plumb.Judgement
	workspace *workspace
}

// earlier returns the sessions of an execution that the log has.
func (e *engine) earlier(execution int) (pending, error) {
	if !e.Index.Has(execution) {
		return nil, nil
	}
	found := pending{}
	caseID, runnerID := e.state.At(execution)
	err := e.Index.Sessions(caseID, runnerID, func(ev plumb.Event) error {
		found.add(ev)
		return nil
	})
	return found, err
}

func (p pending) add(ev plumb.Event) {
	if ev.Type == plumb.EventSessionFinished {
		p[ev.Repetition] = append(
			p[ev.Repetition], session{number: ev.Session, report: ev.Report, stored: ev.Report, failure: ev.Failure},
		)
		return
	}
	for i := range p[ev.Repetition] {
		if s := &p[ev.Repetition][i]; s.number == ev.Session {
			s.judgement = ev.Judgement
			return
		}
	}
}
