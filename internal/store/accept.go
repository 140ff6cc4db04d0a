package store

import (
	"bytes"
	"cmp"
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
	err = s.write(ctx, len(e.Submission.Results)+1, func(t *tx) {
		id, added, err = t.accept(e, p, old, beginning)
		t.fail(err)
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
	var old earlier
	trusts := t.numbers("SELECT trust FROM account WHERE id = $1"+t.store.sharing, e.Account)
	t.query(earlierQuery+t.store.waiting, []any{e.Project, e.Submission.Info.ID}, old.scan)
	if t.err != nil || len(trusts) == 0 {
		return 0, false, cmp.Or(t.err, fmt.Errorf("account %d: %w", e.Account, ErrNotFound))
	}
	state, held, trust := stateOK, strings.Join(e.Submission.Held, "\n"), Trust(trusts[0])
	if held != "" {
		state = stateHeld
	}
	var touched []panelDay
	var answers []int64
	id = old.id
	switch {
	case !old.found:
		if id, err = t.insertRun(e, p, trust, state, held); err != nil {
			return 0, false, err
		}
	case old.state == stateErased:
		return 0, false, ErrErased
	case old.digest == p.digest:
		return old.id, false, nil
	case e.Log != nil && old.account == e.Account && old.digest != before.digest:
		return 0, false, errAgain
	case old.account != e.Account || e.Log != nil && beginning != old.digest:
		return 0, false, ErrConflict
	default:
		if old.state == stateHeld { // until somebody releases it
			state, held = stateHeld, old.held
		}
		touched, answers = t.days("r.id = $1", id), t.clear(id)
		t.updateRun(id, e, p, trust, state, held)
	}
	p.write(t, id)
	for name, value := range e.Labels {
		t.exec("INSERT INTO run_label (run, name, value) VALUES ($1, $2, $3)", id, name, value)
	}
	panels := t.results(id, e.Project, e.Submission)
	switch {
	case old.found:
		t.dropAnswers(answers)
		t.recompute(with(touched, panels, e.Submission.Started))
	case state == stateOK:
		t.count(panels, e.Submission, trust)
	}
	if e.Log != nil {
		t.audit(e.Account, "run submitted", e.Submission.Info.ID, state)
	}
	return id, true, t.err
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
	ids := t.numbers("INSERT INTO run ("+runColumns+", public_id, project, account, run_id) VALUES "+
		places(1, len(values))+" ON CONFLICT (project, run_id) DO NOTHING RETURNING id", values...)
	if t.err != nil || len(ids) == 0 {
		return 0, cmp.Or(t.err, errAgain)
	}
	return ids[0], nil
}

func (t *tx) updateRun(id int64, e *Entry, p *packed, trust Trust, state, held string) {
	var set strings.Builder
	for i, column := range strings.Split(runColumns, ",") {
		fmt.Fprintf(&set, ", %s = $%d", strings.TrimSpace(column), i+1)
	}
	values := append(t.runValues(e, p, trust, state, held), id)
	t.exec(fmt.Sprintf("UPDATE run SET %s WHERE id = $%d", set.String()[2:], len(values)), values...)
}

// results stores the results of a log and their sums, and returns the panels of its runners.
func (t *tx) results(run, project int64, s *accept.Submission) (panels []int64) {
	byKey := make([]named, len(s.Panels))
	for i := range s.Panels {
		p := &s.Panels[i]
		byKey[i] = named{p.Key, []any{
			string(p.Kind), p.Runner, p.Provider, p.Model, s.Info.SuiteHash, s.Info.SuiteName, p.Settings,
		}}
	}
	ids := t.ids("panel", "kind, runner, provider, model, suite_hash, suite_name, settings", project, byKey)
	for i := range byKey {
		panels = append(panels, ids[byKey[i].key])
	}
	cases := make([]named, len(s.Cases))
	for i := range s.Cases {
		c := &s.Cases[i]
		key := sha256.Sum256([]byte(strings.Join([]string{c.Hash, c.ID, c.Category, c.Difficulty}, "\x00")))
		cases[i] = named{key, []any{c.ID, c.Hash, c.Category, c.Difficulty}}
	}
	infos := t.ids("case_info", "name, hash, category, difficulty", project, cases)
	answers := t.answers(project, s.Answers)
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
	t.insert(`result (run, runner, no, repetition, panel, case_info, at, outcome, class, score, tokens, cost, latency,
		served, answer_hash, answer, fresh)`, "", rows)
	t.insertSums(run, panels, Day(s.Started), sumsOf(s))
	return panels
}

// named is a row that has a name for a key.
type named struct {
	key    accept.Hash
	values []any
}

// ids returns the ids of rows of a project by their key. It inserts those that are missing.
func (t *tx) ids(table, columns string, project int64, rows []named) map[accept.Hash]int64 {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b named) int { return bytes.Compare(a.key[:], b.key[:]) })
	rows = slices.CompactFunc(rows, func(a, b named) bool { return a.key == b.key })
	key, sharing := "key", ""
	if table == "answer" { // which others may remove
		key, sharing = "hash", t.store.sharing
	}
	found := make(map[accept.Hash]int64, len(rows))
	find := func(rows []named) (missing []named) {
		for batch := range slices.Chunk(rows, t.store.batch) {
			args := []any{project}
			for i := range batch {
				args = append(args, batch[i].key[:])
			}
			text := fmt.Sprintf("SELECT id, %s FROM %s WHERE project = $1 AND %s IN ($2%s ORDER BY %s%s",
				key, table, key, strings.TrimPrefix(places(1, len(args)), "($1, $2"), key, sharing)
			t.query(text, args, func(rows *sql.Rows) error {
				var id int64
				var key []byte
				err := rows.Scan(&id, &key)
				found[accept.Hash(key)] = id
				return err
			})
		}
		for i := range rows {
			if _, ok := found[rows[i].key]; !ok {
				missing = append(missing, rows[i])
			}
		}
		return missing
	}
	missing := find(rows)
	var values [][]any
	for i := range missing {
		values = append(values, append([]any{project, missing[i].key[:]}, missing[i].values...))
	}
	t.insert(fmt.Sprintf("%s (project, %s, %s)", table, key, columns),
		fmt.Sprintf("ON CONFLICT (project, %s) DO NOTHING", key), values)
	if len(find(missing)) > 0 {
		t.fail(errAgain) // another transaction removed what it had
	}
	return found
}

// answers stores the texts of answers and returns their ids.
func (t *tx) answers(project int64, texts map[accept.Hash]string) map[accept.Hash]int64 {
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
