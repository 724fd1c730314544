package sqlite

import "strings"

// statements are all that the writer says, prepared once.
type statements struct {
	events [maxEventRows]*stmt // inserts of one row, of two, …

	begin, commit, rollback, checkpoint, truncate, probe, lastPos, insertExecution *stmt

	updateExecution, insertLabel, insertStep, updateStep, insertResult, insertApproval *stmt
	decideApproval, insertBlock, deleteBlock, insertPark, endParks, insertSignal       *stmt
	takeSignal, putDispatch, putLease, deleteLease, insertSlot, pruneSlots             *stmt
	dropSlots, putKey, loadExecution, loadHead, loadDispatch, loadSteps                *stmt
	loadBlock, loadParks, loadSignals, loadLease, loadSlots, approvalFacts             *stmt
	stepNo, signalByKey, keyed, agentNo, putAgent, deleteAgent                         *stmt
	agentIsBusy, retirePolicy, putPolicy, ended, dropLabels, dropResults               *stmt
	dropSteps, dropEvents, dropApprovals, dropParks, dropSignals, dropDispatch         *stmt
	dropKeys, dropExecution, executionLabel, agentAny, cancelApproval                  *stmt
	currentPolicy, positions, retired, retire                                          *stmt
}

const (
	maxEventRows  = 5
	insertEvents  = "INSERT INTO events(pos,execution_no,seq,type,at,schema_version,id,cause,ruled,digest,hash,payload,body) VALUES "
	eventRow      = "(?,?,?,?,?,1,?,?,?,?,?,?,?)"
	eventRowWidth = 12
)

func (s *statements) prepare(c *conn) error {
	for i := range s.events {
		st, err := c.prepare(insertEvents + strings.Repeat(eventRow+",", i) + eventRow)
		if err != nil {
			return err
		}
		s.events[i] = st
	}
	for _, p := range s.texts() {
		st, err := c.prepare(p.sql)
		if err != nil {
			return err
		}
		*p.to = st
	}
	return nil
}

// texts pairs every statement with its SQL.
func (s *statements) texts() []struct {
	to  **stmt
	sql string
} {
	return []struct {
		to  **stmt
		sql string
	}{
		{&s.begin, `BEGIN IMMEDIATE`},
		{&s.agentAny, `SELECT no FROM agents WHERE id=?`},
		{&s.cancelApproval, `UPDATE approvals SET status=?2 WHERE execution_no=?1 AND status=1`},
		{&s.commit, `COMMIT`},
		{&s.rollback, `ROLLBACK`},
		{&s.checkpoint, `PRAGMA wal_checkpoint(PASSIVE)`},
		{&s.truncate, `PRAGMA wal_checkpoint(TRUNCATE)`},
		{&s.probe, `UPDATE probe SET at = ?`},
		{&s.lastPos, `SELECT max(last,coalesce((SELECT max(pos) FROM events),0)) FROM retired`},
		{&s.insertExecution, `INSERT INTO executions(no,id,agent_no,status,created_at,deadline_at,failure,labels) VALUES (?,?,?,?,?,?,'',?)`},
		{&s.updateExecution, `UPDATE executions SET status=?2, ended_at=?3, output_pos=?4, outcome=?5, failure=?6 WHERE no=?1`},
		{&s.insertLabel, `INSERT INTO labels VALUES (?,?,?)`},
		{&s.insertStep, `INSERT INTO steps(no,execution_no,step_id,kind,status,idempotency,occurrence,attempt,created_at,started_at,target,rule,args_hash,dispatch,last,approval) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`},
		{&s.updateStep, `UPDATE steps SET status=?2, attempt=?3, started_at=?4, dispatch=?5, last=?6, approval=?7 WHERE no=?1`},
		{&s.insertResult, `INSERT INTO step_results(step_no,status,pos,at,input_tokens,output_tokens,indeterminate,reason) VALUES (?,?,?,?,?,?,?,?)`},
		{&s.insertApproval, `INSERT INTO approvals(no,id,execution_no,step_no,status,created_at,timeout_at,rule,reason,message,approvers) VALUES (?,?,?,?,?,?,?,?,?,?,?)`},
		{&s.decideApproval, `UPDATE approvals SET status=?2, decided_at=?3, decided_by=?4, rationale=?5 WHERE id=?1`},
		{&s.insertBlock, `INSERT INTO blocks(execution_no,reason,step_id,approval,requested,signal,timeout_at) VALUES (?,?,?,?,?,?,?)`},
		{&s.deleteBlock, `DELETE FROM blocks WHERE execution_no=?`},
		{&s.insertPark, `INSERT INTO parks(execution_no,step_id,event,retry_at) VALUES (?,?,?,?)`},
		{&s.endParks, `UPDATE parks SET retry_at=NULL WHERE execution_no=? AND retry_at IS NOT NULL`},
		{&s.insertSignal, `INSERT INTO signals(no,execution_no,id,event,taken,type,digest,key) VALUES (?,?,?,?,0,?,?,?)`},
		{&s.takeSignal, `UPDATE signals SET taken=1 WHERE no=?`},
		{&s.putDispatch, `INSERT INTO dispatches VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(execution_no) DO UPDATE SET id=excluded.id,status=excluded.status,attempt=excluded.attempt,claims=excluded.claims,not_before=excluded.not_before,timeout=excluded.timeout,acked=excluded.acked,holder=excluded.holder,holder_attempt=excluded.holder_attempt,queued_event=excluded.queued_event,acked_event=excluded.acked_event`},
		{&s.putLease, `INSERT OR REPLACE INTO leases VALUES (?,?,?,?)`},
		{&s.deleteLease, `DELETE FROM leases WHERE execution_no=?`},
		{&s.insertSlot, `INSERT INTO rate_slots VALUES (?,?,?)`},
		{&s.pruneSlots, `DELETE FROM rate_slots WHERE bucket=? AND at<=?`},
		{&s.dropSlots, `DELETE FROM rate_slots WHERE bucket>=? AND bucket<?`},
		{&s.putKey, `INSERT INTO create_keys VALUES (?,?,?)`},
		{&s.loadExecution, `SELECT e.no,a.id,e.status,e.created_at,e.deadline_at,e.failure,e.outcome,e.output_pos,e.labels,(SELECT id FROM events WHERE pos=e.no) FROM executions e JOIN agents a ON a.no=e.agent_no WHERE e.id=?`},
		{&s.loadHead, `SELECT seq,hash,at FROM events WHERE execution_no=? ORDER BY seq DESC LIMIT 1`},
		{&s.loadDispatch, `SELECT id,status,attempt,claims,not_before,timeout,acked,holder,holder_attempt,queued_event,acked_event FROM dispatches WHERE execution_no=?`},
		{&s.loadSteps, `SELECT s.step_id,s.no,s.kind,s.status,s.idempotency,s.occurrence,s.attempt,s.created_at,s.started_at,s.target,s.rule,s.args_hash,s.dispatch,s.last,s.approval,r.status,r.pos,r.at,r.input_tokens,r.output_tokens,r.indeterminate,r.reason FROM steps s LEFT JOIN step_results r ON r.step_no=s.no WHERE s.execution_no=?`},
		{&s.loadBlock, `SELECT reason,step_id,approval,requested,signal,timeout_at FROM blocks WHERE execution_no=?`},
		{&s.loadParks, `SELECT step_id,event,retry_at FROM parks WHERE execution_no=?`},
		{&s.loadSignals, `SELECT no,id,event,type FROM signals WHERE execution_no=? AND taken=0 ORDER BY no`},
		{&s.loadLease, `SELECT expires_at,stored_at,memory FROM leases WHERE execution_no=?`},
		{&s.loadSlots, `SELECT at,keep FROM rate_slots WHERE bucket=? ORDER BY at`},
		{&s.approvalFacts, `SELECT e.id,a.status,a.approvers,a.decided_by,a.timeout_at FROM approvals a JOIN executions e ON e.no=a.execution_no WHERE a.id=?`},
		{&s.stepNo, `SELECT no FROM steps WHERE execution_no=? AND step_id=?`},
		{&s.signalByKey, `SELECT id,type,digest FROM signals WHERE execution_no=? AND key=?`},
		{&s.keyed, `SELECT e.id,k.request FROM create_keys k JOIN executions e ON e.no=k.execution_no WHERE k.key=?`},
		{&s.agentNo, `SELECT no FROM agents WHERE id=? AND deleted=0`},
		{&s.putAgent, `INSERT INTO agents(id,webhook_url,secret,lease_seconds,registered_at,updated_at,deleted) VALUES (?1,?2,?3,?4,?5,?5,0) ON CONFLICT(id) DO UPDATE SET webhook_url=?2,secret=?3,lease_seconds=?4,registered_at=CASE deleted WHEN 1 THEN ?5 ELSE registered_at END,updated_at=?5,deleted=0`},
		{&s.deleteAgent, `UPDATE agents SET deleted=1, secret='', updated_at=?2 WHERE no=?1`},
		{&s.agentIsBusy, `SELECT 1 FROM executions WHERE agent_no=? AND status<4 LIMIT 1`},
		{&s.currentPolicy, `SELECT 1 FROM policies WHERE agent_no=? AND replaced_at IS NULL AND sha256=?`},
		{&s.retirePolicy, `UPDATE policies SET replaced_at=?2 WHERE agent_no=?1 AND replaced_at IS NULL`},
		{&s.putPolicy, `INSERT INTO policies(agent_no,loaded_at,sha256,bundle) VALUES (?,?,?,?)`},
		{&s.ended, `SELECT no,id FROM executions WHERE ended_at IS NOT NULL AND ended_at<? ORDER BY ended_at` + bound},
		{&s.positions, `SELECT count(*),coalesce(sum(pos),0) FROM events WHERE execution_no=?`},
		{&s.retired, `SELECT events,positions FROM retired`},
		{&s.retire, `UPDATE retired SET last=?,events=?,positions=?`},
		{&s.dropLabels, `DELETE FROM labels WHERE key=? AND value=? AND execution_no=?`},
		{&s.dropResults, `DELETE FROM step_results WHERE step_no IN (SELECT no FROM steps WHERE execution_no=?)`},
		{&s.dropSteps, `DELETE FROM steps WHERE execution_no=?`},
		{&s.dropEvents, `DELETE FROM events WHERE execution_no=?`},
		{&s.dropApprovals, `DELETE FROM approvals WHERE execution_no=?`},
		{&s.dropParks, `DELETE FROM parks WHERE execution_no=?`},
		{&s.dropSignals, `DELETE FROM signals WHERE execution_no=?`},
		{&s.dropDispatch, `DELETE FROM dispatches WHERE execution_no=?`},
		{&s.dropKeys, `DELETE FROM create_keys WHERE execution_no=?`},
		{&s.dropExecution, `DELETE FROM executions WHERE no=?`},
		{&s.executionLabel, `SELECT labels FROM executions WHERE no=?`},
	}
}
