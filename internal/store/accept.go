package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/plumb-eval/plumb/internal/accept"
)

// Entry is a run to accept.
type Entry struct {
	Project, Account int64
	// ID is the name of the run in addresses; "" for a new one.
	ID         string
	Submission *accept.Submission
	// Log has the bytes of the log. It is nil if they are kept elsewhere; then Digest names them, Bytes
	// is their number, and they replace those of the same run.
	Log    io.ReadSeeker
	Digest string
	Bytes  int64
	// Context is JSON. Labels are the words of it by which runs are found, such as "branch".
	Context string
	Labels  map[string]string
}

// errAgain means that another transaction came first, so that this one is repeated.
var errAgain = errors.New("another transaction came first")

// Accept stores a run, with all that follows from it, in one transaction. If its log was accepted before,
// it returns the run that it made then, and added is false. A log that goes on where an earlier one of
// the same run and account ended replaces it. The error is [ErrConflict] for any other log of a run, and
// [ErrErased] if the run was erased.
func (s *Store) Accept(ctx context.Context, e *Entry) (run *Run, added bool, err error) {
	const most = 5
	for range most {
		run, added, err = s.accept(ctx, e)
		if !retried(err) {
			break
		}
		if e.Log != nil {
			if _, err := e.Log.Seek(0, io.SeekStart); err != nil {
				return nil, false, fmt.Errorf("read the log again: %w", err)
			}
		}
	}
	return run, added, err
}

// retried reports whether a transaction failed only because of another one.
func retried(err error) bool {
	if of, ok := errors.AsType[*pgconn.PgError](err); ok {
		return of.Code == "40P01" || of.Code == "40001" // a deadlock; a conflict
	}
	return errors.Is(err, errAgain)
}

func (s *Store) accept(ctx context.Context, e *Entry) (run *Run, added bool, err error) {
	old, err := s.find(ctx, e)
	if err != nil {
		return nil, false, err
	}
	p, beginning := &packed{bytes: e.Bytes, digest: e.Digest}, ""
	if e.Log != nil {
		if p, beginning, err = s.pack.log(e.Log, old.bytes); err != nil {
			return nil, false, err
		}
		defer func() { err = errors.Join(err, p.close()) }()
	}
	var id int64
	err = s.write(ctx, len(e.Submission.Results)+1, func(t *tx) error {
		id, added, err = t.accept(e, p, old, beginning)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	run, err = single(ctx, s, runQuery+"WHERE r.id = $1", []any{id}, scanRun)
	return run, added, err
}

// earlier is what is stored of a run.
type earlier struct {
	id, account, bytes  int64
	digest, state, held string
	found               bool
}

const earlierQuery = "SELECT id, account, bytes, digest, state, held FROM run WHERE project = $1 AND run_id = $2"

func (o *earlier) scan(rows *sql.Rows) error {
	o.found = true
	return rows.Scan(&o.id, &o.account, &o.bytes, &o.digest, &o.state, &o.held)
}

func (s *Store) find(ctx context.Context, e *Entry) (o earlier, err error) {
	err = s.query(ctx, earlierQuery, []any{e.Project, e.Submission.Info.ID}, o.scan)
	return o, err
}

// accept is [Store.Accept] within a transaction. before is what was stored when the log was packed.
// Locks are taken in one order: account, run, other names, answers, panels, and of each kind by key.
func (t *tx) accept(e *Entry, p *packed, before earlier, beginning string) (id int64, added bool, err error) {
	trust, found, err := t.number("SELECT trust FROM account WHERE id = $1"+t.store.sharing, e.Account)
	if err == nil && !found {
		err = fmt.Errorf("account %d: %w", e.Account, ErrNotFound)
	}
	if err != nil {
		return 0, false, err
	}
	var old earlier
	if err := t.query(earlierQuery+t.store.waiting, []any{e.Project, e.Submission.Info.ID}, old.scan); err != nil {
		return 0, false, err
	}
	state, held := stateOK, strings.Join(e.Submission.Held, "\n")
	if held != "" {
		state = stateHeld
	}
	var touched []panelDay
	var answers []int64
	id = old.id
	switch {
	case !old.found:
		id, err = t.insertRun(e, p, Trust(trust), state, held)
	case old.state == stateErased:
		err = ErrErased
	case old.digest == p.digest:
		return old.id, false, nil
	case old.account != e.Account:
		err = ErrConflict
	case e.Log != nil && old.digest != before.digest:
		err = errAgain
	case e.Log != nil && beginning != old.digest:
		err = ErrConflict
	default:
		if old.state == stateHeld { // until somebody releases it
			state, held = stateHeld, old.held
		}
		if touched, err = t.days("r.id = $1", id); err != nil {
			break
		}
		if answers, err = t.clear(id); err != nil {
			break
		}
		err = t.updateRun(id, e, p, Trust(trust), state, held)
	}
	if err != nil {
		return 0, false, err
	}
	panels, err := t.rows(id, e, p)
	switch {
	case err != nil:
	case old.found:
		for _, panel := range panels {
			touched = append(touched, panelDay{panel, Day(e.Submission.Started)})
		}
		if err = t.dropAnswers(answers); err == nil {
			err = t.recompute(touched)
		}
	case state == stateOK:
		err = t.count(panels, e.Submission, Trust(trust))
	}
	if err == nil && e.Log != nil {
		err = t.audit(e.Account, "run submitted", e.Submission.Info.ID, state)
	}
	return id, true, err
}

// runColumns are the columns of a run that follow from its log.
const runColumns = `digest, bytes, suite_hash, suite_name, suite_version, tier, judge, share, trust, state, held,
	day, started, ended, received, finished, kept, planned, measured, passed, failed, errored, cost, context`

func (t *tx) runValues(e *Entry, p *packed, trust Trust, state, held string) []any {
	s := e.Submission
	var measured, passed, failed, errored int64
	for i := range s.Results {
		switch r := &s.Results[i]; {
		case !r.Measured():
			errored++
		case r.Outcome == passes:
			measured, passed = measured+1, passed+1
		default:
			measured, failed = measured+1, failed+1
		}
	}
	kept := keptResults
	if e.Log != nil {
		kept = keptAll
	}
	return []any{
		p.digest, p.bytes, s.Info.SuiteHash, s.Info.SuiteName, s.Info.SuiteVersion, s.Info.Tier, s.Info.Judge,
		string(s.Info.Share), int64(trust), state, held, Day(s.Started), ms(s.Started), ms(s.Ended), ms(t.store.now()),
		number(s.Finished), kept, s.Planned, measured, passed, failed, errored, s.CostNanoUSD, e.Context,
	}
}

func number(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

func (t *tx) insertRun(e *Entry, p *packed, trust Trust, state, held string) (int64, error) {
	public := e.ID
	if public == "" {
		const length = 12
		public = strings.ToLower(rand.Text())[:length]
	}
	values := append(t.runValues(e, p, trust, state, held), public, e.Project, e.Account, e.Submission.Info.ID)
	id, found, err := t.number("INSERT INTO run ("+runColumns+", public_id, project, account, run_id) VALUES "+
		places(1, len(values))+" ON CONFLICT (project, run_id) DO NOTHING RETURNING id", values...)
	if err == nil && !found {
		err = errAgain
	}
	return id, err
}

func (t *tx) updateRun(id int64, e *Entry, p *packed, trust Trust, state, held string) error {
	var set strings.Builder
	for i, column := range strings.Split(runColumns, ",") {
		fmt.Fprintf(&set, ", %s = $%d", strings.TrimSpace(column), i+1)
	}
	values := append(t.runValues(e, p, trust, state, held), id)
	_, err := t.exec(fmt.Sprintf("UPDATE run SET %s WHERE id = $%d", set.String()[2:], len(values)), values...)
	return err
}

// rows stores what follows from a log, apart from daily sums, and returns the panels of its runners.
func (t *tx) rows(run int64, e *Entry, p *packed) (panels []int64, err error) {
	if err := p.write(t, run); err != nil {
		return nil, err
	}
	var labels [][]any
	for name, value := range e.Labels {
		labels = append(labels, []any{run, name, value})
	}
	if err := t.insert("run_label (run, name, value)", "", labels); err != nil {
		return nil, err
	}
	return t.results(run, e.Project, e.Submission)
}

// results stores the results of a log and their sums.
func (t *tx) results(run, project int64, s *accept.Submission) (panels []int64, err error) {
	byKey := make([]named, len(s.Panels))
	for i := range s.Panels {
		p := &s.Panels[i]
		byKey[i] = named{p.Key, []any{
			string(p.Kind), p.Runner, p.Provider, p.Model, s.Info.SuiteHash, s.Info.SuiteName, p.Settings,
		}}
	}
	ids, err := t.ids("panel", "kind, runner, provider, model, suite_hash, suite_name, settings", project, byKey)
	if err != nil {
		return nil, err
	}
	for i := range byKey {
		panels = append(panels, ids[byKey[i].key])
	}
	cases := make([]named, len(s.Cases))
	for i := range s.Cases {
		c := &s.Cases[i]
		key := sha256.Sum256([]byte(strings.Join([]string{c.Hash, c.ID, c.Category, c.Difficulty}, "\x00")))
		cases[i] = named{key, []any{c.ID, c.Hash, c.Category, c.Difficulty}}
	}
	infos, err := t.ids("case_info", "name, hash, category, difficulty", project, cases)
	if err != nil {
		return nil, err
	}
	answers, err := t.answers(project, s.Answers)
	if err != nil {
		return nil, err
	}
	rows := make([][]any, len(s.Results))
	for i := range s.Results {
		r := &s.Results[i]
		var hash, answer any
		if r.Answer != nil {
			hash = r.Answer[:]
			if id, ok := answers[*r.Answer]; ok {
				answer = id
			}
		}
		rows[i] = []any{
			run, r.Runner, r.Case, r.Repetition, panels[r.Runner], infos[cases[r.Case].key], ms(r.At), string(r.Outcome), r.Class,
			r.Score, r.Tokens, r.CostNanoUSD, r.LatencyMs, r.Served, hash, answer, number(r.Fresh),
		}
	}
	err = t.insert(`result (run, runner, no, repetition, panel, case_info, at, outcome, class, score, tokens, cost, latency,
		served, answer_hash, answer, fresh)`, "", rows)
	if err != nil {
		return nil, err
	}
	return panels, t.insertSums(run, panels, Day(s.Started), sumsOf(s))
}

// named is a row that has a name for a key.
type named struct {
	key    accept.Hash
	values []any
}

// ids returns the ids of rows of a project by their key. It inserts those that are missing.
func (t *tx) ids(table, columns string, project int64, rows []named) (map[accept.Hash]int64, error) {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b named) int { return bytes.Compare(a.key[:], b.key[:]) })
	rows = slices.CompactFunc(rows, func(a, b named) bool { return a.key == b.key })
	found := make(map[accept.Hash]int64, len(rows))
	key, sharing := "key", ""
	if table == "answer" { // which others may remove
		key, sharing = "hash", t.store.sharing
	}
	find := func() error {
		for batch := range slices.Chunk(rows, t.store.batch) {
			args := []any{project}
			var in []string
			for i := range batch {
				if _, ok := found[batch[i].key]; !ok {
					args = append(args, batch[i].key[:])
					in = append(in, fmt.Sprintf("$%d", len(args)))
				}
			}
			if len(in) == 0 {
				continue
			}
			text := fmt.Sprintf("SELECT id, %s FROM %s WHERE project = $1 AND %s IN (%s) ORDER BY %s%s",
				key, table, key, strings.Join(in, ", "), key, sharing)
			err := t.query(text, args, func(rows *sql.Rows) error {
				var id int64
				var key []byte
				err := rows.Scan(&id, &key)
				found[accept.Hash(key)] = id
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := find(); err != nil || len(found) == len(rows) {
		return found, err
	}
	var missing [][]any
	for i := range rows {
		if _, ok := found[rows[i].key]; !ok {
			missing = append(missing, append([]any{project, rows[i].key[:]}, rows[i].values...))
		}
	}
	err := t.insert(fmt.Sprintf("%s (project, %s, %s)", table, key, columns),
		fmt.Sprintf("ON CONFLICT (project, %s) DO NOTHING", key), missing)
	if err != nil {
		return nil, err
	}
	if err := find(); err != nil {
		return nil, err
	}
	if len(found) < len(rows) {
		return nil, errAgain // another transaction removed what it had
	}
	return found, nil
}

// answers stores the texts of answers and returns their ids.
func (t *tx) answers(project int64, texts map[accept.Hash]string) (map[accept.Hash]int64, error) {
	const small = 1 << 10 // a text that is not packed
	rows := make([]named, 0, len(texts))
	for hash := range maps.Keys(texts) {
		text, packed := []byte(texts[hash]), int64(0)
		if len(text) > small {
			text, packed = t.store.pack.pack(text), 1
		}
		rows = append(rows, named{hash, []any{packed, text}})
	}
	return t.ids("answer", "packed, text", project, rows)
}
