#!/usr/bin/env python3
"""A kernelctl agent in plain Python, standard library only.

It shows the whole protocol of an agent, without an SDK: the signed webhook, the
steps, replay, leaving when the execution is blocked, and the heartbeat. Read it
from the bottom (what this agent does) or from the top (how).

    AGENT_ID=weather AGENT_SECRET=change-me python3 agent.py
"""

import contextlib
import hashlib
import hmac
import json
import os
import random
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

KERNEL = os.environ.get("KERNEL_URL", "http://127.0.0.1:8080").rstrip("/")
AGENT_ID = os.environ.get("AGENT_ID", "weather")
SECRET = os.environ.get("AGENT_SECRET", "change-me").encode()
LISTEN = os.environ.get("AGENT_LISTEN", "127.0.0.1:9001")


class Stop(Exception):
    """This run must end now. The execution is not failed by that: it goes on in a
    later run, or is over already. Run.stopped remembers it, in case somebody's
    `except Exception` swallows this."""


class Denied(Exception):
    """Policy, or whoever was asked for approval, refused a step. Recorded."""


class RateLimited(Exception):
    """A rate limit refused a step. Not recorded: the same call may be made again."""


class StepFailed(Exception):
    """A step failed: now, or in an earlier run whose failure is replayed."""

    def __init__(self, target, error):
        super().__init__(f"step {target} failed: {error}")
        self.error = error


# ---- Talking to the kernel ---------------------------------------------------


def sign(body: bytes) -> str:
    return "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()


def request(method, path, body=None, headers=None, patience=60.0):
    """Sends one signed request and returns the JSON of the answer.

    What the network or an overloaded kernel swallowed is sent again: every request
    of an agent is safe to repeat, a submit because of its Idempotency-Key.
    """
    raw = b"" if body is None else json.dumps(body).encode()
    give_up = time.monotonic() + patience
    for attempt in range(1000):
        req = urllib.request.Request(KERNEL + "/v0" + path, data=raw or None, method=method)
        req.add_header("Service-Agent-Id", AGENT_ID)
        req.add_header("Service-Signature", sign(raw))  # over the raw body, also the empty one
        if raw:
            req.add_header("Content-Type", "application/json")
        for name, value in (headers or {}).items():
            req.add_header(name, value)
        try:
            with urllib.request.urlopen(req, timeout=30) as resp:
                text = resp.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as err:
            if err.code not in (429, 502, 503, 504) or time.monotonic() > give_up:
                raise
            wait = float(err.headers.get("Retry-After") or 0)
        except OSError:  # no connection, or none any more
            if time.monotonic() > give_up:
                raise
            wait = 0.0
        time.sleep(max(wait, random.uniform(0, min(5.0, 0.1 * 2**attempt))))


class Run:
    """One run of an execution: what one webhook started."""

    def __init__(self, hook):
        self.execution = hook["execution_id"]
        self.lease = hook["lease_timeout_seconds"]
        self.headers = {  # on every write: they say in whose name it is made
            "Service-Dispatch-Id": hook["dispatch_id"],
            "Service-Dispatch-Attempt": str(hook["dispatch_attempt"]),
        }
        self.stopped = None  # why this run must end
        self.submits = 0

    def stop(self, why):
        self.stopped = self.stopped or why
        raise Stop(why)

    def write(self, path, body=None, **headers):
        try:
            return request("POST", f"/executions/{quote(self.execution)}{path}", body, {**self.headers, **headers})
        except urllib.error.HTTPError as err:
            code = ""
            with contextlib.suppress(ValueError):
                code = json.loads(err.read()).get("code", "")
            if code in ("lease_superseded", "execution_terminal"):
                self.stop(code)  # a newer run has taken over, or the execution is over
            raise

    def input(self):
        execution = request("GET", f"/executions/{quote(self.execution)}")
        if execution["status"] in ("completed", "failed", "cancelled"):
            self.stop("execution_terminal")
        return execution["input"]

    def step(self, kind, target, args, effect, idempotency="safe_to_retry"):
        """Asks before the effect, runs it if need be, records what came of it."""
        if self.stopped:
            raise Stop(self.stopped)
        self.submits += 1
        decision = self.write(
            "/steps",
            {"kind": kind, "target": target, "args": args, "idempotency": idempotency},
            # The same key for all tries of this submit, another one for the next.
            **{"Idempotency-Key": f"submit-{self.submits}"},
        )
        what = decision["decision"]
        if what == "replay":  # done in an earlier run: not again
            return self.outcome(target, decision)
        if what == "denied":
            raise Denied(f"{target} was denied: {decision['reason']}")
        if what == "rate_limited":
            raise RateLimited(f"{target} was rate limited: {decision['reason']}")
        if what in ("blocked", "execution_blocked", "execution_terminal"):
            self.stop(what)
        if what != "proceed":  # from a newer kernel: running the effect would be a guess
            raise RuntimeError(f"unknown decision {what!r}")

        path = f"/steps/{decision['step_id']}"
        try:
            result = effect()
        except Exception as err:
            failure = {"message": str(err) or type(err).__name__}
            return self.outcome(target, self.write(path + "/fail", {"error": failure}), error=failure)
        return self.outcome(target, self.write(path + "/complete", {"result": result}), result=result)

    def outcome(self, target, answer, result=None, error=None):
        """What is recorded wins over what this run believes."""
        if answer["decision"] == "execution_terminal":
            self.stop("execution_terminal")
        if answer["decision"] == "replay":
            result, error = answer.get("result"), answer.get("error")
        if error is not None:
            raise StepFailed(target, error)
        return result

    def heartbeats(self, done: threading.Event):
        """Keeps the lease while the agent is busy; a third of it leaves room for one
        heartbeat that is lost."""
        while not done.wait(self.lease / 3) and not self.stopped:
            with contextlib.suppress(Stop, OSError):
                self.write("/heartbeat")


def run_agent(hook):
    run, done = Run(hook), threading.Event()
    beat = threading.Thread(target=run.heartbeats, args=(done,), daemon=True)
    beat.start()
    try:
        try:
            path, body = "/complete", {"output": agent(run)}
        except Stop:
            pass  # run.stopped says why
        except Exception as err:
            path, body = "/fail", {"error": str(err) or type(err).__name__}
        if run.stopped:  # also when the agent swallowed the exception
            print(f"{run.execution}: left ({run.stopped})", flush=True)
            return
        run.write(path, body)
        print(f"{run.execution}: {path[1:]} {body}", flush=True)
    except (Stop, OSError) as err:
        # Too late, or the kernel is gone. The lease lapses, and the next run
        # replays its way to the same outcome.
        print(f"{run.execution}: not reported ({err})", flush=True)
    finally:
        done.set()


# ---- The webhook -------------------------------------------------------------

seen, seen_lock = {}, threading.Lock()


class Webhook(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length > 64 * 1024:
            return self.answer(413)
        body = self.rfile.read(length)
        given = self.headers.get("Service-Signature", "")
        if not hmac.compare_digest(given.encode(), sign(body).encode()):  # before any look into the body
            return self.answer(401)
        hook = json.loads(body)
        key = (hook["execution_id"], hook["dispatch_id"], hook["dispatch_attempt"])
        with seen_lock:  # the same delivery may arrive twice
            known = key in seen
            seen[key] = True
            if len(seen) > 8192:
                del seen[next(iter(seen))]  # the oldest
        self.answer(200)  # at once: the work comes after
        if not known:
            threading.Thread(target=run_agent, args=(hook,), daemon=True).start()

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


# ---- What this agent does ----------------------------------------------------


def agent(run: Run):
    """Sends a weather report. It starts from the top in every run: what was done
    before comes back as a replay, so the code reads as if nothing ever stopped it.

    It makes the same calls whenever it sees the same input and the same results.
    The clock is neither, so reading it is a step of kind `local`.
    """
    city = run.input().get("city", "Paris")

    weather = run.step("tool_call", "get_weather", {"city": city}, lambda: get_weather(city))

    now = run.step("local", "now", None, lambda: datetime.now(timezone.utc).isoformat())

    mail = {"to": "team@example.com", "text": f"{city}, {now[:10]}: {weather['sky']}, {weather['celsius']} °C"}
    # policy.yaml gates this one: the run ends here with `blocked`. Once somebody
    # has granted it, a new run comes by, and this time the mail leaves. A mail must
    # not go twice, even if that means that after a crash nobody knows (at_most_once).
    receipt = run.step("tool_call", "send_email", mail, lambda: send_email(mail), idempotency="at_most_once")
    return {"sent": receipt["id"], "text": mail["text"]}


def get_weather(city):
    return {"sky": "clear", "celsius": 11 + len(city)}


def send_email(mail):
    print(f"MAIL to {mail['to']}: {mail['text']}", flush=True)
    return {"id": f"m-{random.randrange(10**6)}"}


def main():
    host, _, port = LISTEN.rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), Webhook)
    print(f"agent {AGENT_ID} listens on http://{host}:{server.server_port}/", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


if __name__ == "__main__":
    main()
