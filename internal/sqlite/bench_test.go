package sqlite_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

// stepsPerExecution is after how many steps a caller goes on to a new execution.
const stepsPerExecution = 40

// BenchmarkSubmitComplete records a step and its result: two operations, with
// one caller (a commit each) and with many (commits shared).
func BenchmarkSubmitComplete(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			db := benchDB(b, sqlite.Options{})
			b.ReportAllocs()
			b.SetParallelism(callers) // times GOMAXPROCS
			b.ResetTimer()
			if callers == 1 {
				a := &caller{db: db}
				for range b.N {
					a.step(b)
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				a := &caller{db: db}
				for pb.Next() {
					a.step(b)
				}
			})
		})
	}
}

// BenchmarkEviction is the same with so little memory that every operation
// loads its execution from the rows and makes another one leave.
func BenchmarkEviction(b *testing.B) {
	db := benchDB(b, sqlite.Options{Resident: 1})
	agents := make([]*caller, 64)
	for i := range agents {
		agents[i] = &caller{db: db}
		agents[i].step(b)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		agents[i%len(agents)].step(b)
	}
}

// BenchmarkConversation submits LLM calls of which each carries everything said
// before, about 2 KB more each time, 100 calls an execution: as the service
// stores them, and as they are.
func BenchmarkConversation(b *testing.B) {
	const calls = 100
	source := mathrand.New(mathrand.NewPCG(1, 2))
	var bodies [calls]kernel.Body
	var hashes [calls]kernel.Digest
	text := []byte(`{"messages":["`)
	raw := 0
	for n := range calls {
		for end := len(text) + 2000; len(text) < end; { // words of a vocabulary of 4096
			text = fmt.Appendf(text, "%s ", strconv.FormatInt(1<<20+int64(source.IntN(4096))*7919, 36))
		}
		text = append(text, `","`...)
		body := append(bytes.Clone(text), `"],"model":"m-1"}`...)
		bodies[n], hashes[n] = kernel.NewBody(body), canonjson.Digest(body)
		raw += len(body)
	}
	for _, packed := range []bool{true, false} {
		b.Run(fmt.Sprintf("packed=%t", packed), func(b *testing.B) {
			db := benchDB(b, sqlite.Options{})
			before, _ := db.Sizes()
			b.SetBytes(int64(raw / calls))
			b.ReportAllocs()
			b.SetParallelism(4)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				a := &caller{db: db, asTheyAre: !packed}
				for n := 0; pb.Next(); n = (n + 1) % calls {
					if n == 0 {
						a.start(b)
					}
					answer := a.do(b, &kernel.SubmitStep{
						Caller: a.holder, Kind: kernel.LLMCall, Target: "m-1", Idempotency: kernel.SafeToRetry, Args: bodies[n], ArgsHash: hashes[n],
						FirstID: kernel.DeriveStepID(a.id, kernel.LLMCall, "m-1", hashes[n], 0), Ruling: allowance, Approval: time.Minute,
					})
					a.do(b, &kernel.FinishStep{Caller: a.holder, Step: answer.Step, Succeeded: true, Outcome: kernel.NewBody([]byte(`"ok"`))})
				}
			})
			after, _ := db.Sizes()
			b.ReportMetric(float64(after-before)/float64(b.N)/float64(raw/calls), "disk/raw")
		})
	}
}

func benchDB(b *testing.B, opts sqlite.Options) *sqlite.DB {
	b.Helper()
	db, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "kernel.db"), opts)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	if err := putAgent(db); err != nil {
		b.Fatal(err)
	}
	return db
}

// caller is an agent in the middle of an execution.
type caller struct {
	db     *sqlite.DB
	id     kernel.ExecutionID
	holder kernel.Holder
	steps  int
	args   [32]byte

	asTheyAre bool // bodies are not made ready for the disk
	goesOn    bool // never takes another execution
}

var (
	payload   = bytes.Repeat([]byte("x"), 600)
	allowance = kernel.Ruling{Rule: "allow", Action: kernel.Allow}
)

func (a *caller) step(b *testing.B) {
	if a.steps++; a.steps > stepsPerExecution && !a.goesOn || a.holder.Attempt == 0 {
		a.start(b)
	}
	args := fmt.Appendf(a.args[:0], `{"n":%d}`, a.steps)
	hash := kernel.Digest(canonjson.Digest(args))
	submit := &kernel.SubmitStep{
		Caller: a.holder, Kind: kernel.ToolCall, Target: "search", Idempotency: kernel.SafeToRetry, Args: kernel.NewBody(args),
		ArgsHash: hash, FirstID: kernel.DeriveStepID(a.id, kernel.ToolCall, "search", hash, 0), Ruling: allowance, Approval: time.Minute,
	}
	answer := a.do(b, submit)
	result := append(append([]byte(`{"text":"`), payload...), `"}`...)
	a.do(b, &kernel.FinishStep{Caller: a.holder, Step: answer.Step, Succeeded: true, Outcome: kernel.NewBody(result)})
}

// start creates an execution and takes it.
func (a *caller) start(b *testing.B) {
	var err error
	if a.id, err = create(a.db, []byte(`{}`)); err != nil {
		b.Fatal(err)
	}
	a.steps = 1
	claim := &kernel.ClaimDispatch{Timeout: time.Minute}
	answer := a.with(b, claim, func(l *kernel.Lease) { claim.Dispatch = l.ID })
	a.holder = answer.Claimed.Attempt
	a.do(b, &kernel.RecordDelivery{Attempt: a.holder, Acked: true})
}

func (a *caller) do(b *testing.B, c kernel.Command) kernel.Answer { return a.with(b, c, nil) }

func (a *caller) with(b *testing.B, c kernel.Command, prepare func(*kernel.Lease)) kernel.Answer {
	var seed [10]byte
	_, _ = rand.Read(seed[:])
	var answer kernel.Answer
	var bodies []store.Body
	if !a.asTheyAre {
		bodies = append(bodies, store.BodyOf(a.id, c))
	}
	err := a.db.Update(context.Background(), func(tx store.Tx) error {
		s, l, err := tx.Load(a.id)
		if err != nil {
			return err
		}
		kernel.Stamp(c, max(now(), s.UpdatedAt), seed)
		if prepare != nil {
			prepare(l)
		}
		plan, err := kernel.Decide(s, l, c)
		if err != nil {
			return err
		}
		answer = plan.Answer
		return tx.Save(s, l, c, &plan)
	}, bodies...)
	if err != nil {
		b.Fatal(err)
	}
	return answer
}

// BenchmarkEvents reads the largest page of a log.
func BenchmarkEvents(b *testing.B) {
	const page = 1000
	db := benchDB(b, sqlite.Options{})
	a := &caller{db: db, goesOn: true}
	for range page / 2 {
		a.step(b)
	}
	x, err := db.Header(context.Background(), a.id)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		events, err := db.Events(context.Background(), x.No, a.id, 0, page, nil)
		if err != nil || len(events) != page {
			b.Fatal(len(events), err)
		}
	}
}

// BenchmarkExecutions reads a page of a list: with the pages of the file in the
// memory of the reader, and after somebody has written, when SQLite forgets them.
func BenchmarkExecutions(b *testing.B) {
	const stored, page = 2000, 50
	db := benchDB(b, sqlite.Options{})
	for range stored {
		if _, err := create(db, []byte(`{}`)); err != nil {
			b.Fatal(err)
		}
	}
	for name, q := range map[string]store.ExecutionQuery{
		"newest": {Agent: "mailer", Limit: page},
		"label":  {Labels: [][2]string{{"k", "v"}}, Limit: page},
	} {
		for _, written := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/written=%t", name, written), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if written {
						b.StopTimer()
						if err := putAgent(db); err != nil {
							b.Fatal(err)
						}
						b.StartTimer()
					}
					if all, _, err := db.Executions(context.Background(), q); err != nil || len(all) != page {
						b.Fatal(len(all), err)
					}
				}
			})
		}
	}
}

// BenchmarkVerify is how fast a database is checked, per event.
func BenchmarkVerify(b *testing.B) {
	path := filepath.Join(b.TempDir(), "kernel.db")
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	if err := putAgent(db); err != nil {
		b.Fatal(err)
	}
	a := &caller{db: db}
	for range 2000 {
		a.step(b)
	}
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	var events int64
	for range b.N {
		report, err := sqlite.Verify(context.Background(), path, sqlite.VerifyOptions{})
		if err != nil || !report.OK() {
			b.Fatalf("%+v, %v", report, err)
		}
		events += report.Events
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}
