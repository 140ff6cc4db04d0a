package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
)

// Panel is a runner over a suite and a judge.
type Panel struct {
	ID                      int64
	Kind                    plumb.RunnerKind
	Runner, Provider, Model string
	SuiteHash, SuiteName    string
	Settings                string // JSON
}

// Panels returns the panels of a suite, of a model, or of both. What is "" selects all.
func (s *Store) Panels(ctx context.Context, project int64, suite, provider, model string) ([]Panel, error) {
	return list(ctx, s, `SELECT id, kind, runner, provider, model, suite_hash, suite_name, settings FROM panel
		WHERE project = $1 AND ($2 = '' OR suite_name = $2) AND ($3 = '' OR provider = $3) AND ($4 = '' OR model = $4)
		ORDER BY suite_name, runner, id`, []any{project, suite, provider, model}, func(rows *sql.Rows, p *Panel) error {
		return rows.Scan(&p.ID, &p.Kind, &p.Runner, &p.Provider, &p.Model, &p.SuiteHash, &p.SuiteName, &p.Settings)
	})
}

// Point is what a run says about a panel.
type Point struct {
	Run     string
	Started time.Time
	Panel   int64
	Counts
}

// SuiteRates returns the latest points of a suite, in the order of time: one for each run and panel.
// runs is the largest number of runs.
func (s *Store) SuiteRates(ctx context.Context, v View, suite string, since time.Time, runs int) ([]Point, error) {
	return list(ctx, s, `SELECT r.public_id, r.started, s.panel, `+summed("s")+`
		FROM (SELECT id, public_id, started FROM run
			WHERE project = $1 AND suite_name = $2 AND started >= $3 AND trust >= $4 AND state = 'ok'
			ORDER BY started DESC, id DESC LIMIT $5) r
		JOIN run_sum s ON s.run = r.id
		GROUP BY r.id, r.public_id, r.started, s.panel ORDER BY r.started, r.id, s.panel`,
		[]any{v.Project, suite, ms(since), int64(v.Trust), runs}, func(rows *sql.Rows, p *Point) error {
			var started int64
			err := rows.Scan(append([]any{&p.Run, &started, &p.Panel}, p.fields()...)...)
			p.Started = at(started)
			return err
		})
}

// Cell is how a case did: in a run, or on a day.
type Cell struct {
	// Run is set in a heat map of runs, Day in one of days.
	Run                     string
	Day                     int64
	Panel                   int64
	CaseID, Category        string
	Passed, Failed, Errored int64
	// Score is the sum of the scores of what was measured, in millionths.
	Score int64
	// Answers counts distinct answers, if they are known.
	Answers int64
}

const cellColumns = `c.name, c.category,
	SUM(CASE x.outcome WHEN 'pass' THEN 1 ELSE 0 END), SUM(CASE x.outcome WHEN 'fail' THEN 1 ELSE 0 END),
	SUM(CASE x.outcome WHEN 'error' THEN 1 ELSE 0 END), CAST(SUM(x.score) AS BIGINT), COUNT(DISTINCT x.answer_hash) `

func (c *Cell) fields() []any {
	return []any{&c.CaseID, &c.Category, &c.Passed, &c.Failed, &c.Errored, &c.Score, &c.Answers}
}

// RunCells returns the cells of some runs of a view, in the order of the cases.
func (s *Store) RunCells(ctx context.Context, v View, runs []string) ([]Cell, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	args := []any{v.Project, int64(v.Trust)}
	var in []string
	for _, id := range runs {
		args = append(args, id)
		in = append(in, fmt.Sprintf("$%d", len(args)))
	}
	return list(ctx, s, "SELECT r.public_id, x.panel, "+cellColumns+`
		FROM run r JOIN result x ON x.run = r.id JOIN case_info c ON c.id = x.case_info
		WHERE r.project = $1 AND r.trust >= $2 AND r.state = 'ok' AND r.public_id IN (`+strings.Join(in, ", ")+`)
		GROUP BY r.started, r.id, r.public_id, x.panel, x.no, c.name, c.category ORDER BY x.no, r.started, r.id, x.panel`, args,
		func(rows *sql.Rows, c *Cell) error {
			return rows.Scan(append([]any{&c.Run, &c.Panel}, c.fields()...)...)
		})
}

// DayCells returns the cells of a panel by day: what was measured anew since a day.
func (s *Store) DayCells(ctx context.Context, v View, panel, since int64) ([]Cell, error) {
	return list(ctx, s, "SELECT r.day, x.panel, "+cellColumns+`
		FROM (SELECT DISTINCT s.run FROM run_sum s WHERE s.panel = $1 AND s.day >= $2) those
		JOIN run r ON r.id = those.run JOIN result x ON x.run = r.id JOIN case_info c ON c.id = x.case_info
		WHERE r.project = $3 AND r.trust >= $4 AND r.state = 'ok' AND x.panel = $1 AND x.fresh = 1
		GROUP BY r.day, x.panel, c.name, c.category ORDER BY c.name, c.category, r.day`,
		[]any{panel, since, v.Project, int64(v.Trust)}, func(rows *sql.Rows, c *Cell) error {
			return rows.Scan(append([]any{&c.Day, &c.Panel}, c.fields()...)...)
		})
}

// Served is a model that a provider said had answered, on a day.
type Served struct {
	Day     int64
	Model   string
	Results int64
}

// ServedModels returns the models that answered for a panel since a day.
func (s *Store) ServedModels(ctx context.Context, v View, panel, since int64) ([]Served, error) {
	return list(ctx, s, `SELECT r.day, x.served, COUNT(*)
		FROM (SELECT DISTINCT s.run FROM run_sum s WHERE s.panel = $1 AND s.day >= $2) those
		JOIN run r ON r.id = those.run JOIN result x ON x.run = r.id
		WHERE r.project = $3 AND r.trust >= $4 AND r.state = 'ok' AND x.panel = $1 AND x.fresh = 1 AND x.served <> ''
		GROUP BY r.day, x.served ORDER BY r.day, x.served`,
		[]any{panel, since, v.Project, int64(v.Trust)}, func(rows *sql.Rows, m *Served) error {
			return rows.Scan(&m.Day, &m.Model, &m.Results)
		})
}

// Past is one result in the history of a case.
type Past struct {
	Run     string
	Started time.Time
	Result
}

// CaseHistory returns the latest results of a case of a suite, the latest first.
func (s *Store) CaseHistory(ctx context.Context, v View, suite, caseID string, since time.Time, limit int) ([]Past, error) {
	return list(ctx, s, "SELECT r.public_id, r.started, "+resultColumns+`
		FROM case_info c JOIN result x ON x.case_info = c.id JOIN run r ON r.id = x.run
		WHERE c.project = $1 AND c.name = $2 AND r.suite_name = $3 AND r.started >= $4 AND r.trust >= $5 AND r.state = 'ok'
		ORDER BY r.started DESC, r.id DESC, x.runner, x.repetition LIMIT $6`,
		[]any{v.Project, caseID, suite, ms(since), int64(v.Trust), limit}, func(rows *sql.Rows, p *Past) error {
			var started int64
			err := p.scan(rows, &p.Run, &started)
			p.Started = at(started)
			return err
		})
}

// Daily is a day of a model, of a suite or of a panel.
type Daily struct {
	// Provider and Model, or Suite, or Panel and Category are set.
	Provider, Model, Suite string
	Panel                  int64
	Category               string
	Day                    int64
	// Runs counts the runs of a panel on the day with a case of the category.
	Runs int64
	Counts
	// Last is the start of the last run.
	Last time.Time
}

// Models returns the days of all models since a day.
func (s *Store) Models(ctx context.Context, v View, since int64) ([]Daily, error) {
	return s.daily(ctx, v, since, "p.provider, p.model", "", nil, func(d *Daily) []any { return []any{&d.Provider, &d.Model} })
}

// Suites returns the days of all suites since a day, by name.
func (s *Store) Suites(ctx context.Context, v View, since int64) ([]Daily, error) {
	return s.daily(ctx, v, since, "p.suite_name", "", nil, func(d *Daily) []any { return []any{&d.Suite} })
}

// PanelDays returns the days of a panel since a day, by category.
func (s *Store) PanelDays(ctx context.Context, v View, panel, since int64) ([]Daily, error) {
	return s.daily(ctx, v, since, "d.panel, d.category", " AND p.id = $4", []any{panel},
		func(d *Daily) []any { return []any{&d.Panel, &d.Category} })
}

func (s *Store) daily(
	ctx context.Context, v View, since int64, by, where string, args []any, fields func(*Daily) []any,
) ([]Daily, error) {
	return list(ctx, s, "SELECT "+by+", d.day, CAST(SUM(d.runs) AS BIGINT), "+summed("d")+`, MAX(d.last)
		FROM panel p JOIN panel_day d ON d.panel = p.id
		WHERE p.project = $1 AND d.trust >= $2 AND d.day >= $3`+where+" GROUP BY "+by+", d.day ORDER BY "+by+", d.day",
		append([]any{v.Project, int64(v.Trust), since}, args...), func(rows *sql.Rows, d *Daily) error {
			var last int64
			err := rows.Scan(append(append(append(fields(d), &d.Day, &d.Runs), d.fields()...), &last)...)
			d.Last = at(last)
			return err
		})
}

// Submitters returns how many accounts sent runs of each model since a day.
func (s *Store) Submitters(ctx context.Context, v View, since int64) (map[[2]string]int64, error) {
	all := map[[2]string]int64{}
	err := s.query(ctx, `SELECT p.provider, p.model, COUNT(DISTINCT r.account)
		FROM panel p JOIN run_sum s ON s.panel = p.id JOIN run r ON r.id = s.run
		WHERE p.project = $1 AND s.day >= $2 AND s.fresh = 1 AND r.trust >= $3 AND r.state = 'ok' GROUP BY p.provider, p.model`,
		[]any{v.Project, since, int64(v.Trust)}, func(rows *sql.Rows) error {
			var key [2]string
			var n int64
			err := rows.Scan(&key[0], &key[1], &n)
			all[key] = n
			return err
		})
	return all, err
}
