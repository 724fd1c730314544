package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/agentkernel/kernelctl/agent"
	"github.com/agentkernel/kernelctl/internal/client"
)

// task is what the operations agent works on.
type task struct {
	Ref       string         `json:"ref"`
	Alert     string         `json:"alert"`
	Service   string         `json:"service"`
	Statement string         `json:"statement,omitempty"`
	Paths     []string       `json:"paths,omitempty"`
	Shards    int            `json:"shards,omitempty"`
	Release   map[string]any `json:"release,omitempty"`

	Restart bool `json:"restart,omitempty"`
}

func opsOrder(r *rand.Rand, t task, severity string) order {
	t.Ref = number(r, "OPS")
	return order{input: t, labels: map[string]string{"team": "platform", "env": "prod", "severity": severity}}
}

func service(r *rand.Rand) string { return one(r, "checkout", "search-api", "ledger", "media-proxy") }

func orderIncident(r *rand.Rand) order {
	return opsOrder(r, task{Alert: one(r, "HighErrorRate", "LatencyP99", "PoolExhausted"), Service: service(r), Restart: true}, "page")
}

func orderSchema(r *rand.Rand) order {
	return opsOrder(r, task{Alert: "SlowQuery", Service: "ledger", Statement: one(
		r,
		"CREATE INDEX CONCURRENTLY orders_by_customer ON orders (customer_id, created_at DESC)",
		"ALTER TABLE sessions SET (autovacuum_vacuum_scale_factor = 0.02)",
		"DROP TABLE orders_old",
		"UPDATE jobs SET state = 'queued' WHERE state = 'running' AND heartbeat < now() - interval '1 hour'",
	)}, "ticket")
}

func orderCleanup(r *rand.Rand) order {
	t := task{Alert: "DiskAlmostFull", Service: "media-proxy"}
	for i := range 14 {
		t.Paths = append(t.Paths, fmt.Sprintf("/var/lib/media/%02d/%s", i, one(r, "thumbs.cache", "2024.tar.zst", "backup.sql.gz", "core.8812")))
	}
	return opsOrder(r, t, "ticket")
}

func orderRelease(r *rand.Rand) order {
	name, version := service(r), fmt.Sprintf("%d.%d.%d", 4+r.IntN(3), r.IntN(20), r.IntN(10))
	env := func(pairs ...string) (vars []map[string]string) {
		for i := 0; i < len(pairs); i += 2 {
			vars = append(vars, map[string]string{"name": pairs[i], "value": pairs[i+1]})
		}
		return vars
	}
	container := func(name, image, cpu, memory string, env []map[string]string) map[string]any {
		return map[string]any{
			"name": name, "image": image, "env": env,
			"resources": map[string]any{"requests": map[string]string{"cpu": cpu, "memory": memory}, "limits": map[string]string{"memory": memory}},
			"probes":    map[string]any{"ready": map[string]any{"path": "/readyz", "every": "5s"}, "alive": map[string]any{"path": "/healthz", "every": "10s"}},
		}
	}
	t := task{Alert: "ReleaseRequested", Service: name, Release: map[string]any{
		"service": name, "version": version, "strategy": map[string]any{"kind": "canary", "steps": []int{5, 25, 50, 100}, "pause": "10m"},
		"replicas": map[string]int{"eu-north": 6, "eu-south": 4, "us-east": 8},
		"containers": []any{
			container(name, "registry.example.com/"+name+":"+version, "500m", "768Mi", env("GOMEMLIMIT", "700MiB", "POOL_SIZE", "64", "LOG_LEVEL", "info")),
			container("proxy", "registry.example.com/proxy:2.9.1", "100m", "128Mi", env("UPSTREAM", "127.0.0.1:8081")),
		},
		"migrations": []string{"0141_orders_index.sql", "0142_sessions_ttl.sql"},
		"changes":    []string{"retry card payments once", "drop the legacy export", "bound the connection pool"},
	}}
	o := opsOrder(r, t, "planned")
	o.then = &then{after: 4*time.Second + time.Duration(r.IntN(12))*time.Second, signal: "ci.finished", payload: `{"status":"green","tests":4812,"took":"6m12s"}`}
	return o
}

func orderReindex(r *rand.Rand) order {
	o := opsOrder(r, task{Alert: "IndexDrift", Service: "search-api", Shards: 40}, "planned")
	o.then = &then{after: 25*time.Second + time.Duration(r.IntN(15))*time.Second} // somebody gives up on it
	return o
}

// ops looks at what is wrong, says what it thinks, and acts as far as it may.
func (c *company) ops(ctx context.Context, run *agent.Run) (any, error) {
	var in task
	if err := run.Input(ctx, &in); err != nil {
		return nil, err
	}
	d := &desk{c, run, in.Ref}
	if in.Release != nil {
		return d.release(ctx, in)
	}
	series := map[string]any{"error_rate": 0.083, "p99_ms": 2412, "pool": map[string]int{"size": 64, "used": 64}, "since": "11m"}
	if err := d.use(ctx, "read_metrics", map[string]any{"service": in.Service, "window": "30m"}, series); err != nil {
		return nil, err
	}
	if in.Shards > 0 {
		return d.reindex(ctx, in)
	}
	lines := []string{
		`level=warn msg="pool exhausted" waited=5.0s in_use=64`,
		`level=error msg="charge" err="context deadline exceeded" took=30.0s`,
		`level=warn msg="transaction is idle" age=9m12s pid=4431`,
	}
	if err := d.use(ctx, "read_logs", map[string]any{"service": in.Service, "level": "warn", "limit": 200}, lines); err != nil {
		return nil, err
	}
	finding, err := d.think(ctx, roleEngineer, in.Alert+" of "+in.Service)
	if err != nil {
		return nil, err
	}
	switch {
	case in.Restart:
		err = d.use(ctx, "restart_service", map[string]any{"service": in.Service, "instances": 1, "drain": "20s", "because": finding}, map[string]any{"restarted": 1})
	case in.Statement != "":
		explain := map[string]any{"database": "ledger", "statement": "EXPLAIN SELECT * FROM orders WHERE customer_id = 42"}
		if err = d.use(ctx, "run_sql", explain, map[string]any{"plan": "Seq Scan on orders (cost=0.00..431022.00 rows=18)"}); err == nil {
			err = d.use(ctx, "run_sql", map[string]any{"database": "ledger", "statement": in.Statement, "lock_timeout": "2s"}, map[string]any{"took_ms": 1843})
		}
	case len(in.Paths) > 0:
		err = d.use(ctx, "delete_files", map[string]any{"host": "media-3", "paths": in.Paths, "recursive": true}, map[string]any{"freed_bytes": 81_604_378_624})
	}
	return map[string]any{"alert": in.Alert, "finding": finding}, err
}

// release waits for the tests of a version and asks to roll it out.
func (d *desk) release(ctx context.Context, in task) (any, error) {
	tests, err := agent.WaitSignal[map[string]any](ctx, d.run, "ci.finished", 0)
	if err != nil {
		return nil, err
	}
	if err := d.use(ctx, "deploy", in.Release, map[string]any{"rollout": "r-2214"}); err != nil {
		return nil, err
	}
	if err := d.use(ctx, "wait_rollout", map[string]any{"rollout": "r-2214"}, map[string]any{"ready": 18, "of": 18}); err != nil {
		return nil, err
	}
	return map[string]any{"service": in.Service, "version": in.Release["version"], "tests": tests}, nil
}

// reindex works through shards, and tells live how far it is.
func (d *desk) reindex(ctx context.Context, in task) (any, error) {
	for shard := range in.Shards {
		args := map[string]any{"index": in.Service, "shard": shard}
		_, err := agent.Tool(ctx, d.run, "reindex_shard", args, func(ctx context.Context) (any, error) {
			const parts = 10
			for part := range parts {
				agent.Publish(ctx, fmt.Sprintf("shard %d: %d of %d documents\n", shard, (part+1)*1200, parts*1200))
				if client.Sleep(ctx, d.soon(200*time.Millisecond)) != nil {
					return nil, ctx.Err()
				}
			}
			return map[string]int{"documents": parts * 1200}, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return map[string]int{"shards": in.Shards}, nil
}
