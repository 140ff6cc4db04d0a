package suite

import (
	"context"
	"maps"

	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// codeSuite calls the functions of a suite in code.
type codeSuite struct {
	host    lib.Host
	options script.Environment
	places  lib.Places
	module  *lib.Module
}

// loadCodeSuite loads the module of a suite.
func loadCodeSuite(ctx context.Context, b *Bundle, at lib.Places, h lib.Host) (*codeSuite, error) {
	options := config.Options(h, b.workingDir())
	module, err := h.Load(ctx, b.program, options, b.checkCode.room)
	if err != nil {
		return nil, err
	}
	return &codeSuite{h, options, at, module}, nil
}

// call calls an entry of the module plumb for a case, with its id and the arguments. The code can ask
// about the session; without one it cannot.
func (c *codeSuite) call(ctx context.Context, to any, entry, id string, s *codeSession, args ...any) error {
	j := lib.Judging{
		Options: c.options, Limit: c.host.JudgeLimit(), Entry: entry, Args: append([]any{id}, args...),
	}
	if s != nil {
		j.ReportSize = s.size()
		j.Options.Host, j.Options.Async = maps.Clone(j.Options.Host), maps.Clone(j.Options.Async)
		j.Options.Host["events"], j.Options.Host["leaks"] = s.answer(s.events), s.answer(s.leaks)
		j.Options.Async["judge"], j.Options.Async["similar"] = s.answer(s.judge), s.answer(s.similar)
	}
	return c.module.Judge(ctx, to, j)
}
