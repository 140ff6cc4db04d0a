package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/accept"
)

// Run is a run that was accepted.
type Run struct {
	// ID names the run in addresses, and RunID in its log.
	ID, RunID        string
	Project, Account int64
	AccountName      string
	Digest           string
	Bytes            int64 // of the log
	SuiteHash        string
	SuiteName        string
	SuiteVersion     string
	Tier, Judge      string
	Share            plumb.Share
	Trust            Trust
	// State is "ok", "held" or "erased". Held has the reasons.
	State string
	Held  []string
	// Started and Ended are times of the log, Received one of the server.
	Started, Ended, Received time.Time
	// Finished means that the run has ended with all its work done.
	Finished bool
	// HasResults means that the results of the run are still kept.
	HasResults bool
	// These count results.
	Planned, Measured, Passed, Failed, Errored int64
	CostNanoUSD                                int64
	// Context is JSON, or "".
	Context string

	row, kept int64
}

const runQuery = `SELECT r.id, r.public_id, r.run_id, r.project, r.account, a.name, r.digest, r.bytes, r.suite_hash,
	r.suite_name, r.suite_version, r.tier, r.judge, r.share, r.trust, r.state, r.held, r.started, r.ended, r.received,
	r.finished, r.kept, r.planned, r.measured, r.passed, r.failed, r.errored, r.cost, r.context
	FROM run r JOIN account a ON a.id = r.account `

func scanRun(rows *sql.Rows, r *Run) error {
	var held string
	var started, ended, received, finished int64
	err := rows.Scan(&r.row, &r.ID, &r.RunID, &r.Project, &r.Account, &r.AccountName, &r.Digest, &r.Bytes, &r.SuiteHash,
		&r.SuiteName, &r.SuiteVersion, &r.Tier, &r.Judge, &r.Share, &r.Trust, &r.State, &held, &started, &ended, &received,
		&finished, &r.kept, &r.Planned, &r.Measured, &r.Passed, &r.Failed, &r.Errored, &r.CostNanoUSD, &r.Context)
	if held != "" {
		r.Held = strings.Split(held, "\n")
	}
	r.Started, r.Ended, r.Received, r.Finished = at(started), at(ended), at(received), finished != 0
	r.HasResults = r.kept > 0
	return err
}

// Run returns a run by its name in addresses. An erased run is there, without anything that it had.
func (s *Store) Run(ctx context.Context, project int64, id string) (*Run, error) {
	return single(ctx, s, runQuery+"WHERE r.public_id = $1 AND r.project = $2", []any{id, project}, scanRun)
}

// View is what a reader sees: the runs of a project from a level of trust on, which are in no other
// state than ok.
type View struct {
	Project int64
	Trust   Trust
}

// Filter selects runs. The zero value of a field selects all.
type Filter struct {
	View
	// Held selects the held runs, and no others.
	Held bool
	// Suite is the name of a suite, Provider and Model those of a runner.
	Suite, Provider, Model string
	Account                int64
	// Labels must all be those of the run.
	Labels map[string]string
	// Outcome is "passed" (all planned results), "failed" (at least one) or "errored" (at least one).
	Outcome string
	// Since and Until bound the start of the run: not before Since, and before Until.
	Since, Until time.Time
	// Cursor is where an earlier list ended.
	Cursor string
	Limit  int
}

// ErrFilter means that a filter cannot be understood.
var ErrFilter = errors.New("the filter cannot be understood")

// Runs returns runs, the latest start first, and the cursor of the rest; "" if there are no more.
func (s *Store) Runs(ctx context.Context, f *Filter) (runs []Run, cursor string, err error) {
	text, args, err := f.query()
	if err != nil {
		return nil, "", err
	}
	runs, err = list(ctx, s, text, args, scanRun)
	if err == nil && f.Limit > 0 && len(runs) > f.Limit {
		runs = runs[:f.Limit]
		last := &runs[f.Limit-1]
		cursor = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %d", ms(last.Started), last.row))
	}
	return runs, cursor, err
}

func (f *Filter) query() (text string, args []any, err error) {
	var where []string
	and := func(condition string, values ...any) {
		for _, v := range values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(args)), 1)
		}
		where = append(where, condition)
	}
	and("r.project = ?", f.Project)
	and("r.trust >= ?", int64(f.Trust))
	if f.Held {
		and("r.state = 'held'")
	} else {
		and("r.state = 'ok'")
	}
	if f.Suite != "" {
		and("r.suite_name = ?", f.Suite)
	}
	if f.Account != 0 {
		and("r.account = ?", f.Account)
	}
	if f.Provider != "" || f.Model != "" {
		and(`EXISTS (SELECT 1 FROM run_sum s JOIN panel p ON p.id = s.panel
			WHERE s.run = r.id AND p.provider = ? AND p.model = ?)`, f.Provider, f.Model)
	}
	for name, value := range f.Labels {
		and("EXISTS (SELECT 1 FROM run_label l WHERE l.run = r.id AND l.name = ? AND l.value = ?)", name, value)
	}
	switch f.Outcome {
	case "":
	case "passed":
		and("r.passed = r.planned")
	case "failed":
		and("r.failed > 0")
	case "errored":
		and("r.errored > 0")
	default:
		return "", nil, plumb.WithHint(fmt.Errorf("%w: outcome %q", ErrFilter, f.Outcome), "passed, failed or errored")
	}
	if !f.Since.IsZero() {
		and("r.started >= ?", ms(f.Since))
	}
	if !f.Until.IsZero() {
		and("r.started < ?", ms(f.Until))
	}
	if f.Cursor != "" {
		var started, row int64
		plain, err := base64.RawURLEncoding.DecodeString(f.Cursor)
		if err == nil {
			_, err = fmt.Sscanf(string(plain), "%d %d", &started, &row)
		}
		if err != nil {
			return "", nil, plumb.WithHint(fmt.Errorf("%w: cursor %q", ErrFilter, f.Cursor), "take the cursor of the last answer")
		}
		and("(r.started, r.id) < (?, ?)", started, row)
	}
	text = runQuery + "WHERE " + strings.Join(where, " AND ") + " ORDER BY r.started DESC, r.id DESC"
	if f.Limit > 0 {
		args = append(args, f.Limit+1)
		text += fmt.Sprintf(" LIMIT $%d", len(args))
	}
	return text, args, nil
}

// Result is a result with the names of what it is about.
type Result struct {
	accept.Result
	CaseID, CaseHash, Category string
	Panel                      int64
}

const resultColumns = `x.runner, x.no, x.repetition, x.at, x.outcome, x.class, x.score, x.tokens, x.cost, x.latency, x.served,
	x.answer_hash, x.fresh, x.panel, c.name, c.hash, c.category`

// scan reads columns, and after them those of resultColumns.
func (r *Result) scan(rows *sql.Rows, before ...any) error {
	var when int64
	var hash []byte
	err := rows.Scan(append(before, &r.Runner, &r.Case, &r.Repetition, &when, &r.Outcome, &r.Class, &r.Score, &r.Tokens,
		&r.CostNanoUSD, &r.LatencyMs, &r.Served, &hash, &r.Fresh, &r.Panel, &r.CaseID, &r.CaseHash, &r.Category)...)
	r.At = at(when)
	if len(hash) == len(accept.Hash{}) {
		r.Answer = new(accept.Hash(hash))
	}
	return err
}

// Results returns the results of a run, by runner, case and repetition.
func (s *Store) Results(ctx context.Context, r *Run) ([]Result, error) {
	return list(ctx, s, "SELECT "+resultColumns+` FROM result x JOIN case_info c ON c.id = x.case_info
		WHERE x.run = $1 ORDER BY x.runner, x.no, x.repetition`, []any{r.row},
		func(rows *sql.Rows, one *Result) error { return one.scan(rows) })
}

// Answer returns the text of an answer by its hash; the error is [ErrNotFound] if it is not shared.
func (s *Store) Answer(ctx context.Context, project int64, hash accept.Hash) (string, error) {
	text, err := single(ctx, s, "SELECT packed, text FROM answer WHERE project = $1 AND hash = $2", []any{project, hash[:]},
		func(rows *sql.Rows, text *[]byte) error {
			var packed int64
			err := rows.Scan(&packed, text)
			if err == nil && packed != 0 {
				*text, err = s.pack.unpack(*text)
			}
			return err
		})
	if err != nil {
		return "", err
	}
	return string(*text), nil
}
