package modelapi_test

import (
	"net/http/httptest"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
	"github.com/plumb-eval/plumb/plumbtest"
)

func TestRunnerContract(t *testing.T) {
	t.Parallel()
	const slow, key = "think about it", "sk-test-0123456789"
	fake := fakemodel.New(fakemodel.Behavior{Key: key, Answers: []fakemodel.Answer{{Prompt: slow, Fault: fakemodel.FaultHang}}})
	srv := httptest.NewServer(fake)
	t.Cleanup(srv.Close)
	t.Cleanup(fake.Release)
	for _, cfg := range modelapi.Wires(srv.URL) {
		t.Run(cfg.Provider+cfg.API, func(t *testing.T) {
			t.Parallel()
			cfg.APIKey, cfg.Transport = key, modelapi.NewTransport(modelapi.TransportOptions{})
			t.Cleanup(cfg.Transport.Close)
			m, err := modelapi.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ask := plumb.Request{CaseID: "c", Messages: []plumb.Message{{Role: plumb.RoleUser, Content: slow}}}
			plumbtest.TestRunner(t, m, plumbtest.RunnerOptions{Slow: ask})
		})
	}
}
