package accept

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/suite/cases"
	"github.com/plumb-eval/plumb/suites"
)

// Suites finds the cases of suites by their hash: of those that are published, and of those that More
// finds. Its methods may be called concurrently.
type Suites struct {
	// More returns the file of a suite that is not published, or nil.
	More func(ctx context.Context, hash string) ([]byte, error)

	mu        sync.Mutex
	published map[string][]byte       // files by hash; nil before the first use
	known     map[string][]plumb.Case // suites that were read
}

// Cases returns the cases of a suite, or nil if nobody knows it.
func (s *Suites) Cases(ctx context.Context, hash string) ([]plumb.Case, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.published == nil {
		if err := s.publish(); err != nil {
			return nil, fmt.Errorf("read the published suites: %w", err)
		}
	}
	if all, ok := s.known[hash]; ok {
		return all, nil
	}
	data := s.published[hash]
	if data == nil && s.More != nil {
		var err error
		if data, err = s.More(ctx, hash); err != nil {
			return nil, err
		}
	}
	if data == nil {
		return nil, nil
	}
	content := cases.Read(ctx, cases.File{Path: hash + ".jsonl", Data: data, Hash: hash})
	if err := content.Problems.Errors(); len(err) > 0 {
		return nil, fmt.Errorf("read suite %s: %w", hash, err)
	}
	const most = 32 // suites in memory
	if len(s.known) >= most {
		clear(s.known)
	}
	s.known[hash] = content.Cases
	return content.Cases, nil
}

func (s *Suites) publish() error {
	s.published, s.known = map[string][]byte{}, map[string][]plumb.Case{}
	names, err := fs.Glob(suites.FS(), "*/*.jsonl")
	for _, name := range names {
		data, err := fs.ReadFile(suites.FS(), name)
		if err != nil {
			return err
		}
		hash, err := digest.Suite(data)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.published[hash] = data
	}
	return err
}
